"""Does a density belong to what is drawn? For `density` beside `transition`, and `likelihood` beside `observation`.

For draws y from the model, whose density p is under test, and draws from another distribution Q with density q,

    E_P[h(y) 2 q(y) / (p(y) + q(y))] = E_Q[h(y) 2 p(y) / (p(y) + q(y))]

for every function h: both are the integral of 2 h p q / (p + q). The numbers that are averaged lie between 0 and 2, so
the test of their difference has a guaranteed error rate (significance.py), and the ratio of the two sides estimates by
what factor p is wrong (bridge sampling: Meng and Wong 1996). h is 1, or 1 in a part of the space and 0 elsewhere.

Q is known exactly if it is fitted to a pilot sample (proposals.py). This finds wrong constants, too, but it supposes
that real numbers have a density of their own. Where one is a function of the others, say a position that follows from a
speed, the constant of a density is a matter of taste. There Q is the model under another θ, which tests what beliefs
rest on: how the densities under two values of θ compare.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from pomdplite.checking.columns import RecordColumn, numbers
from pomdplite.checking.dimensions import vary_on_their_own
from pomdplite.checking.draws import DrawPlace, draw_noise
from pomdplite.checking.probe import Probe
from pomdplite.checking.proposals import Proposal
from pomdplite.checking.significance import Suspicion, strongest, suspicions
from pomdplite.compile.jit import Flags, Floats, Words
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import simulate
from pomdplite.model.compiled import KernelView
from pomdplite.model.records import from_words, to_words
from pomdplite.rng import stream, uniform

_PILOT = 1000  # draws that Q is fitted to, or a quarter of all
_RIVALS = 3  # other values of θ, where densities can only be compared
_VALUES = 4  # of a whole number that are tested one by one
_ROUNDS = 30  # of improving the estimate of a factor


class Part(NamedTuple):
    """A part of the space of what is drawn, by one of its columns."""

    column: RecordColumn | None  # None: all of it
    low: float
    high: float

    def holds(self, columns: list[RecordColumn], values: Floats) -> Flags:
        """Which of the draws, [draw, column], lie in it."""
        if self.column is None:
            return np.ones(len(values), np.bool_)
        own = values[:, columns.index(self.column)]
        return (own >= self.low) & ((own < self.high) | (self.low == self.high))

    def __str__(self) -> str:
        if self.column is None:
            return ""
        name, labels = self.column.name, self.column.labels
        if self.low == self.high:
            return f" for {name} = {labels[int(self.low)] if labels else f'{self.low:g}'}"
        if self.low == -math.inf:
            return f" for {name} below {self.high:.3g}"
        return f" for {name} from {self.low:.3g}" + (f" to {self.high:.3g}" if self.high < math.inf else " on")


def check_densities(
    probe: Probe, view: KernelView, samples: list[tuple[Any, Any, int]], draws: int, error_rate: float, seed: int
) -> None:
    """Compare the model's densities with so many draws at each sampled (x, θ, a); report the worst disagreement."""
    definition, random = probe.model.compiled_form.definition, stream(seed, 2)
    for readings, noise in ((False, definition.noise), (True, definition.reading_noise)):
        if noise.form != "given":
            continue
        places = [_place(view, sample, readings, random) for sample in samples]
        found = [s for place in places for s in _suspicions(probe, place, places, draws, random)]
        worst = strongest(found, error_rate / 2)
        if worst is not None:
            probe.report.add("likelihood" if readings else "density", worst.text())


def _place(view: KernelView, sample: tuple[Any, Any, int], readings: bool, random: Words) -> DrawPlace:
    """Where to draw next states, or readings after a step from there."""
    model, (x, theta, a) = view.kernel_model, sample
    state = to_words(view.model.state.dtype, x).reshape(1, -1)
    hidden = to_words(view.model.hidden.dtype, theta).reshape(1, -1)
    if readings:
        out = allocate_outcomes(model, model.next_states)
        i, _, _ = simulate(model, state, hidden, a, uniform(random), uniform(random), out)
        view.raise_fault()
        state, hidden = out.y[i : i + 1, : model.x_words].copy(), out.theta.copy()
    return DrawPlace(view, state, hidden, a, readings)


def _suspicions(probe: Probe, place: DrawPlace, places: list[DrawPlace], draws: int, random: Words) -> list[Suspicion]:
    """The tests at one place."""
    noise = _noise(min(_PILOT, draws // 4), place.random_numbers, random)
    pilot, sample = place.drawn(noise), place.drawn(_noise(draws, place.random_numbers, random))
    proposal = Proposal(place.space, place.columns, pilot)
    parts = _parts(place.columns, numbers(place.space, place.columns, pilot))
    where = probe.place(_state(place), _hidden(place), place.a, "y" if place.readings else "x")
    if any(proposal.varying) and vary_on_their_own(place, proposal, noise, pilot):
        rival = proposal.draw(_noise(draws, proposal.numbers, random))
        return _tested(
            place, parts, sample, rival, proposal.log_density, f" at {where}, compared with what {place.source} draws"
        )
    found = []
    thetas = {other.theta.tobytes(): other.theta for other in places if not np.array_equal(other.theta, place.theta)}
    for theta in list(thetas.values())[:_RIVALS]:
        other = place.under(theta)
        rival = other.drawn(_noise(draws, place.random_numbers, random))
        against = f" at {where}, compared with theta: {probe.hidden.describe(_hidden(other))}"
        found += _tested(place, parts, sample, rival, other.log_density, against)
    return found


def _state(place: DrawPlace) -> Any:
    return from_words(place.view.model.state.dtype, place.state[0])


def _hidden(place: DrawPlace) -> Any:
    return from_words(place.view.model.hidden.dtype, place.theta[0])


def _noise(count: int, width: int, random: Words) -> Floats:
    noise = np.zeros((count, width))
    draw_noise(random, noise)
    return noise


def _parts(columns: list[RecordColumn], pilot: Floats) -> list[Part]:
    """The whole space, and parts of it that hold a quarter of the draws or more, or one value of a whole number."""
    found = [Part(None, 0.0, 0.0)]
    for c, column in enumerate(columns):
        own = pilot[:, c]
        if own.min() == own.max():
            continue
        if column.real:
            first, median, third = np.quantile(own, [0.25, 0.5, 0.75])
            found += [Part(column, -math.inf, median), Part(column, median, math.inf), Part(column, first, third)]
        else:
            values, counts = np.unique(own, return_counts=True)
            found += [Part(column, v, v) for v in values[np.argsort(-counts, kind="stable")][:_VALUES]]
    return [part for part in found if part.column is None or not part.column.real or part.low < part.high]


def _tested(
    place: DrawPlace, parts: list[Part], sample: Words, rival: Words, log_q: Callable[[Words], Floats], end: str
) -> list[Suspicion]:
    """The identity of this module in every part, for draws from P and from Q."""
    p, q = (tuple(f(rows) for rows in (sample, rival)) for f in (place.log_density, log_q))
    above, below = (2.0 * special.expit(_log_ratio(*pair)) for pair in ((q[0], p[0]), (p[1], q[1])))
    inside = [
        np.stack([part.holds(place.columns, numbers(place.space, place.columns, rows)) for part in parts], axis=1)
        for rows in (sample, rival)
    ]

    def text(k: int) -> str:
        own, others = (flags[:, k] for flags in inside)
        factor = _factor(_log_ratio(q[0], p[0])[own], _log_ratio(p[1], q[1])[others])
        return f"{place.density} is {_wrong_by(factor)}{parts[k]}{end}."

    differences = inside[1] * below[:, None] - inside[0] * above[:, None]
    return suspicions(differences, 4.0, [partial(text, k) for k in range(len(parts))])


def _log_ratio(one: Floats, other: Floats) -> Floats:
    """log(e^one / e^other); -inf where both are 0."""
    return np.where(one == -np.inf, -np.inf, one - np.where(one == -np.inf, 0.0, other))


def _factor(rivalry: Floats, fit: Floats) -> float:
    """By how much p is too large: log(q / p) of draws from P and log(p / q) of draws from Q (Meng and Wong 1996)."""
    log = 0.0
    for _ in range(_ROUNDS):
        above, below = special.expit(rivalry + log).sum(), special.expit(fit - log).sum()
        if above == 0.0 or below == 0.0:
            return math.inf if below > 0.0 else 0.0
        log += math.log(below / above)
    return math.exp(log)


def _wrong_by(factor: float) -> str:
    if factor == math.inf:
        return "positive where nothing is drawn,"
    if factor == 0.0:
        return "far too small"
    large = factor >= 1.0
    return f"about {factor if large else 1.0 / factor:.3g} times too {'large' if large else 'small'}"
