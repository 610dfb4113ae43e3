"""Does one step tell θ? Then nothing is hidden any more after it, which is hardly what a modeller wants.

Where the next state is a floating-point number computed from θ without noise, every θ leads to a state of its own. So
does a state of names or whole numbers that follows θ; with two values of θ that is taken to be intended, such as a door
that opens or does not.

A number without noise does the same to a hidden number with a distribution, in a reading or beside noisy numbers of the
next state: a belief in draws or on a grid never holds the one number that fits.
"""

from collections import deque
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.compile.jit import Words
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.records import float_fields, from_words, to_words
from pomdplite.model.spaces import Distributed, Population

_STATES = 20  # that are looked at, in the order of discovery
_VALUES = 16  # of θ, in one (x, a)
_FEWEST_VALUES = 3  # of θ, for a state without floating-point numbers


def check_revealing(probe: Probe) -> None:
    """Warn if the next state alone tells which θ is true, in one of the first states of a model without mistakes."""
    noisy = probe.interpreted.definition.noise.count > 0
    distributed = isinstance(probe.hidden, Distributed)
    if distributed and probe.model.reading is not None:
        _check_readings(probe)
    if isinstance(probe.hidden, Dirichlet) or (noisy and not distributed):
        return  # a next state tells θ only as far as its density or probability does
    for x, a, values in _first_steps(probe):
        if noisy:
            if _check_numbers(probe, x, a, values):
                return
        else:
            _check_step(probe, x, a, _next_states(probe, x, a, values))


def _first_steps(probe: Probe) -> Iterator[tuple[Any, int, list[Any]]]:
    """(x, a) of the first states, in the order of discovery, and values of θ that may differ in what they lead to."""
    state, run = probe.model.state.dtype, probe.interpreted
    queue = deque([to_words(state, probe.model.initial_state())])
    known = {queue[0].tobytes()}
    for _ in range(_STATES):
        if not queue:
            return
        x = from_words(state, queue.popleft())
        for a in range(len(probe.model.actions)) if not run.terminal(x) else ():
            if not run.legal(x, a):
                continue
            values = list(_hidden_values(probe, x, a))
            yield x, a, values
            for words in (w for several in _next_states(probe, x, a, values).values() for w in several):
                if words.tobytes() not in known:
                    known.add(words.tobytes())
                    queue.append(words)


def _check_readings(probe: Probe) -> None:
    """Warn if a number that is read after the first step has no noise, and another value under every θ."""
    run, x = probe.interpreted, probe.model.initial_state()
    noise = np.ones(run.definition.reading_noise.count)
    for a in range(len(probe.model.actions)) if not run.terminal(x) else ():
        if not run.legal(x, a):
            continue
        values = list({theta.tobytes(): theta for theta in _hidden_values(probe, x, a)}.values())
        y = run.transition(x, values[0], a)[0][0]
        exact, shaken = (
            [run.reading(y, run.evolve(x, theta, a), a, u) for theta in values] for u in (None, noise)
        )  # fmt: skip
        for field in _telling_numbers(exact, shaken):
            probe.report.add(
                "exact reading",
                f"the reading {field} tells theta at {probe.place(x, a=a)}: it has no noise, and every value of "
                f"theta gives another one. Set sd.{field} in observation, or declare its noise.",
                fatal=False,
            )


def _check_numbers(probe: Probe, x: Any, a: int, values: list[Any]) -> bool:
    """Warn if a number of the next state has no noise, although others have, and another value under every θ."""
    run = probe.interpreted
    noise = np.ones(run.definition.noise.count)
    distinct = list({theta.tobytes(): theta for theta in values}.values())
    exact, shaken = ([run.transition(x, theta, a, u)[0][0] for theta in distinct] for u in (None, noise))
    telling = list(_telling_numbers(exact, shaken))
    for field in telling:
        probe.report.add(
            "exact number",
            f"y.{field} tells theta at {probe.place(x, a=a)}: it has no noise, and every value of theta gives another "
            f"one. Declare noise for {field}, or compute it from x alone: noise is added to what transition writes, so "
            "a number computed from another one of y does not share its noise.",
            fatal=False,
        )
    return bool(telling)


def _telling_numbers(exact: list[Any], shaken: list[Any]) -> Iterator[str]:
    """The fields of floating-point numbers that noise does not change, and that differ between all of the records."""
    for field in float_fields(exact[0].dtype):
        same = all(one[field].tobytes() == other[field].tobytes() for one, other in zip(exact, shaken, strict=True))
        if same and len(exact) > 1 and len({record[field].tobytes() for record in exact}) == len(exact):
            yield field


def _next_states(probe: Probe, x: Any, a: int, values: list[Any]) -> dict[bytes, list[Words]]:
    """The next states under each of these values of θ."""
    reached = {}
    for theta in values:
        branches = probe.interpreted.transition(x, theta, a)
        words = [to_words(probe.model.state.dtype, y) for y, p in branches if p > 0]
        reached[to_words(probe.hidden.dtype, theta).tobytes()] = words
    return reached


def _hidden_values(probe: Probe, x: Any, a: int) -> Iterator[Any]:
    """Values of θ that may differ in what (x, a) leads to."""
    hidden = probe.hidden
    if isinstance(hidden, Population) or (not probe.factored and hidden.size > _VALUES):
        yield from (probe.draw_hidden() for _ in range(_VALUES))
    elif not probe.factored:
        yield from (hidden.record(joint) for joint in np.ndindex(*(len(c) for c in hidden.components)))
    else:
        values, component = probe.random_values(), probe.interpreted.depends(x, a)
        for value in range(len(hidden.components[component]))[:_VALUES] if component >= 0 else ():
            values[component] = value
            yield hidden.record(values)


def _check_step(probe: Probe, x: Any, a: int, reached: dict[bytes, list[Words]]) -> None:
    sets = [{words.tobytes() for words in several} for several in reached.values()]
    if len(sets) < 2 or any(one & other for one, other in combinations(sets, 2)):
        return
    state = probe.model.state.dtype
    records = [from_words(state, words) for several in reached.values() for words in several]
    numbers = [field for field in float_fields(state) if len({record[field].tobytes() for record in records}) > 1]
    if not numbers and (len(sets) < _FEWEST_VALUES or isinstance(probe.hidden, Population)):
        return
    noise = f"add noise to {', '.join(numbers)}, or round it" if numbers else "give several next states"
    probe.report.add(
        "revealing",
        f"the next state tells theta at {probe.place(x, a=a)}: every value of theta leads to another one, so nothing "
        f"is hidden after this step. If that is not intended, {noise}.",
        fatal=False,
    )
