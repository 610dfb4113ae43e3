"""Does the `move` of a Population preserve the posterior? An exact test for every model, after Geweke (2004).

Draw θ from the prior, and a history given θ under random actions. Then move θ. If the moves preserve P(θ | history),
θ before and after them have the same joint distribution with the history. So for every function f of θ and g of the
history, (f(θ after) − f(θ before)) g(history) has mean 0. f and g are flags here, and the test of such a mean has a
guaranteed error rate (significance.py). Beliefs move particles given the last state x alone, so x must hold what tells
about θ; g therefore includes the last observation.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from pomdplite.beliefs.history import empty_history
from pomdplite.beliefs.population import moves_from_prior
from pomdplite.checking.columns import columns_of, numbers
from pomdplite.checking.probe import Probe
from pomdplite.checking.significance import strongest, suspicions
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Words, inner, kernel
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.sampling import History, history_log_probability, simulate
from pomdplite.model.compiled import KernelView
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population
from pomdplite.rng import stream, uniform

_STEPS = 12  # at most, of a history; a quarter of the histories have none
_MOVES = 40  # of each θ
_MARKS = (0.25, 0.5, 0.75)  # quantiles above which a number of θ lies or does not
_PILOT = 0.2  # share of the histories that only say where these quantiles are
_OBSERVATIONS = 4  # the last ones that are told apart
_NO_MOVE = (
    "the hidden Population has no move, so beliefs renew their particles by whole draws from the prior, which explain "
    "a long history less and less often; define move(m, x, theta, random), or declare distributions in Hidden."
)


class Histories(NamedTuple):
    """Hidden values before and after moves, and the histories that they were moved after."""

    steps: Ints  # [history] at most so many; less if a terminal state came first
    x: Words  # [history, x_words] the last state
    o: Ints  # [history] the last observation, -1 if there is none
    before: Words  # [history, theta_words]
    after: Words  # [history, theta_words]
    explains: Flags  # [history] whether θ after the moves can lead to the history


class Flagged(NamedTuple):
    """Flags, one column each, and in words where each is set."""

    flags: Flags  # [history, flag]
    texts: list[str]


def check_moves(probe: Probe, view: KernelView, count: int, error_rate: float, seed: int) -> None:
    """Move hidden values after so many simulated histories; report a move that changes their distribution.

    Warn of a Population that has none.
    """
    if count == 0:
        return
    if "move" not in probe.model.compiled_form.definition.functions:
        if moves_from_prior(probe.model):
            probe.report.add("move", _NO_MOVE, fatal=False)
        return
    found, random = _allocate(view, count), stream(seed, 3)
    found.steps[:] = [max(0, int(uniform(random) * _STEPS * 4 / 3) - _STEPS // 3) for _ in range(count)]
    found.x[:] = to_words(probe.model.state.dtype, probe.model.initial_state())
    out = allocate_outcomes(view.kernel_model, max(4, view.kernel_model.next_states))
    _simulate_and_move(view.kernel_model, found, empty_history(view, _STEPS), random, out)
    view.raise_fault()
    if not found.explains.all():
        i = int(np.flatnonzero(~found.explains)[0])
        theta = (probe.hidden.describe(from_words(probe.hidden.dtype, rows[i])) for rows in (found.before, found.after))
        was, became = theta
        probe.report.add(
            "move",
            f"move turns theta: {was} into theta: {became}, which cannot lead to the history, at "
            f"{probe.place(from_words(probe.model.state.dtype, found.x[i]))}; it must preserve P(theta | x).",
        )
        return
    _test(probe, view, found, error_rate)


def _allocate(view: KernelView, count: int) -> Histories:
    words = view.model.hidden.words
    return Histories(
        steps=np.zeros(count, np.int64), x=np.zeros((count, view.kernel_model.x_words), np.uint64),
        o=np.full(count, -1), before=np.zeros((count, words), np.uint64), after=np.zeros((count, words), np.uint64),
        explains=np.ones(count, np.bool_),
    )  # fmt: skip


def _test(probe: Probe, view: KernelView, found: Histories, error_rate: float) -> None:
    pilot = int(_PILOT * len(found.x))
    marks = _marks(_described(view, found.before[:pilot])[0])
    before, after = (_about_hidden(view, rows[pilot:], marks) for rows in (found.before, found.after))
    given = _about_history(probe, found, pilot)
    changes = after.flags.astype(np.float64) - before.flags

    def text(g: int, f: int) -> str:
        first, last = (flags[given.flags[:, g], f].mean() for flags in (before.flags, after.flags))
        return (f"move does not preserve P(theta | x): {before.texts[f]} with probability {first:.3g} before moves and "
                f"{last:.3g} after {_MOVES} of them, {given.texts[g]}.")  # fmt: skip

    pairs = [(g, f) for g in range(given.flags.shape[1]) for f in range(before.flags.shape[1])]
    products = (given.flags[:, :, None] * changes[:, None, :]).reshape(len(changes), len(pairs))
    worst = strongest(suspicions(products, 2.0, [partial(text, *pair) for pair in pairs]), error_rate)
    if worst is not None:
        probe.report.add("move", worst.text())


def _described(view: KernelView, theta: Words) -> tuple[Floats, list[str]]:
    """Hidden values as numbers, [value, number], with their names: the fields, and the model's summary."""
    hidden, model = view.model.hidden, view.model
    assert isinstance(hidden, Population)
    columns = columns_of(hidden.layout)
    found, names = numbers(hidden.layout, columns, np.ascontiguousarray(theta)), [c.name for c in columns]
    if "summary" in model.compiled_form.definition.functions and model.summary_size > 0:
        summaries = np.zeros((len(theta), model.summary_size))
        _summarise(view.kernel_model, theta, summaries)
        view.raise_fault()
        found = np.concatenate([found, summaries], axis=1)
        names += [f"summary f[{i}]" for i in range(model.summary_size)]
    return found, names


def _marks(values: Floats) -> list[Floats]:
    """For each number, the quantiles that can tell values apart."""
    return [np.unique([m for m in np.quantile(own, _MARKS, method="lower") if m < own.max()]) for own in values.T]


def _about_hidden(view: KernelView, theta: Words, marks: list[Floats]) -> Flagged:
    values, names = _described(view, theta)
    flags = [values[:, k] > mark for k, own in enumerate(marks) for mark in own]
    texts = [f"{names[k]} exceeds {mark:.6g}" for k, own in enumerate(marks) for mark in own]
    return Flagged(np.stack(flags, axis=1) if flags else np.zeros((len(theta), 0), np.bool_), texts)


def _about_history(probe: Probe, found: Histories, pilot: int) -> Flagged:
    """Whether there is a history; and what its last state and observation are like."""
    some, model = found.o >= 0, probe.model
    flags, texts = [~some, some], ["before the first step", "after a history"]
    columns = columns_of(model.state)
    values = numbers(model.state, columns, found.x)
    for k, column in enumerate(columns):
        marks = _marks(values[:pilot][some[:pilot]][:, k : k + 1])[0] if some[:pilot].any() else ()
        for mark in marks[len(marks) // 2 :][:1]:
            flags.append(some & (values[:, k] > mark))
            texts.append(f"after histories that end with x.{column.name} above {mark:.6g}")
    if model.reading is None:
        seen, counts = np.unique(found.o[:pilot][some[:pilot]], return_counts=True)
        for o in seen[np.argsort(-counts, kind="stable")][:_OBSERVATIONS]:
            flags.append(found.o == o)
            texts.append(f"after histories that end with the observation {model.observation_name(int(o))!r}")
    return Flagged(np.stack(flags, axis=1)[pilot:], texts)


@kernel
def _simulate_and_move(model: KernelModel, found: Histories, room: History, random: Words, out: Outcomes) -> None:
    for i in range(found.steps.shape[0]):
        abi.prior(model, found.before, i, random)
        steps = _simulate_history(model, found, i, room, random, out)
        if abi.faulty(model):
            return
        for w in range(found.before.shape[1]):
            found.after[i, w] = found.before[i, w]
        for _ in range(_MOVES):
            abi.move(model, found.x, i, found.after, i, random)
        history = History(room.x, room.a, room.y, room.o, steps, 0)
        found.explains[i] = history_log_probability(model, history, found.after, i, out) > -np.inf


@inner
def _simulate_history(model: KernelModel, found: Histories, i: int, room: History, random: Words, out: Outcomes) -> int:
    """Take up to steps[i] random legal actions under before[i]; how many there were."""
    x, theta = found.x[i : i + 1], found.before[i : i + 1]
    for t in range(found.steps[i]):
        if abi.terminal(model, x, 0) or abi.faulty(model):
            return t
        a = _random_action(model, x, uniform(random))
        j, o, _ = simulate(model, x, theta, a, uniform(random), uniform(random), out)
        room.a[t], room.o[t] = a, o
        for w in range(room.y.shape[1]):
            room.y[t, w] = out.y[j, w]
        for w in range(model.x_words):
            room.x[t, w] = x[0, w]
            x[0, w] = out.y[j, w]
        found.o[i] = o
    return found.steps[i]


@inner
def _random_action(model: KernelModel, x: Words, u: float) -> int:
    """One of the legal actions, each as likely as the others."""
    count = 0
    for a in range(model.actions):
        count += 1 if abi.legal(model, x, 0, a) else 0
    left = int(u * count)
    for a in range(model.actions):
        if abi.legal(model, x, 0, a):
            if left == 0:
                return a
            left -= 1
    return 0


@kernel
def _summarise(model: KernelModel, theta: Words, summaries: Floats) -> None:
    for t in range(theta.shape[0]):
        abi.summary(model, theta, t, summaries[t])
