"""The general way to find a POMDP-lite among the states of a POMDP.

θ is the initial state, and x is what the history tells: for each initial state, the state that it has become, or that
it is impossible; and the last observation. If some history leaves open what an initial state has become, the POMDP is
not a POMDP-lite, and we name the state and action that show it. There can be many such x, so `classes` is tried first.
"""

from collections import deque
from typing import NoReturn

import numpy as np

from pomdplite.compile.jit import Ints
from pomdplite.errors import NotPomdpLiteError, TooLargeError
from pomdplite.formats.file_model import Found
from pomdplite.formats.flat import Flat, named_set
from pomdplite.formats.numbering import ListedNumbers
from pomdplite.model.spaces import Component

_IMPOSSIBLE = -1
_MOST_ROWS = 1_000_000  # (x, θ, a)

Becomes = tuple[int, ...]  # the state that each initial state has become, or _IMPOSSIBLE


def find_histories(flat: Flat) -> Found:
    """The POMDP-lite with θ = the initial state; NotPomdpLiteError if there is none."""
    initial = np.flatnonzero(flat.start > 0)
    first = (tuple(initial.tolist()), -1)
    numbers: dict[tuple[Becomes, int], int] = {first: 0}
    waiting = deque([first])
    steps: list[list[list[tuple[int, int, float]]]] = []  # [x][a] (θ, y, p)
    while waiting:
        now, _ = waiting.popleft()
        steps.append([])
        for a in range(len(flat.actions)):
            outcomes = _outcomes(flat, now, a)
            found = []
            for o, cells in outcomes.items():
                becomes = [_IMPOSSIBLE] * len(now)
                for theta, (s, _) in cells.items():
                    becomes[theta] = s
                key = (tuple(becomes), o)
                if key not in numbers:
                    if len(numbers) * len(initial) * len(flat.actions) > _MOST_ROWS:
                        _too_large(flat, len(numbers))
                    numbers[key] = len(numbers)
                    waiting.append(key)
                found += [(theta, numbers[key], p) for theta, (_, p) in cells.items()]
            steps[-1].append(found)
    return _assemble(flat, initial, list(numbers), steps)


def _outcomes(flat: Flat, now: Becomes, a: int) -> dict[int, dict[int, tuple[int, float]]]:
    """{o: {θ: (next state, probability)}}."""
    outcomes: dict[int, dict[int, tuple[int, float]]] = {}
    for theta, s in enumerate(now):
        if s == _IMPOSSIBLE:
            continue
        for after, p in zip(*(part.tolist() for part in flat.successors(s, a)), strict=True):
            for o, q in zip(*(part.tolist() for part in flat.sights(after, a)), strict=True):
                cell = outcomes.setdefault(o, {})
                if theta in cell:
                    _refuse(flat, s, a, o, (cell[theta][0], after))
                cell[theta] = after, p * q
    return outcomes


def _refuse(flat: Flat, s: int, a: int, o: int, after: tuple[int, int]) -> NoReturn:
    one, other = sorted(after)
    told = f", and the observation {flat.observations[o]} does not tell which" if len(flat.observations) > 1 else ""
    raise NotPomdpLiteError(
        f"{flat.name} is not a POMDP-lite: after {flat.actions[a]} in {flat.states[s]} the hidden state is "
        f"{flat.states[one]} or {flat.states[other]} by chance{told}. In a POMDP-lite the hidden part of the state is "
        "constant or changes deterministically, and every planner here relies on that, sarsop too. Programs for any "
        "POMDP read this file: APPL's pomdpsol (SARSOP) or pomdp-solve."
    )


def _too_large(flat: Flat, count: int) -> NoReturn:
    raise TooLargeError(
        f"{flat.name}: the hidden state did not change by chance in the first {count:,} histories, but there are too "
        "many to list. A POMDPX file that says which variables are observed would help."
    )


def _assemble(
    flat: Flat, initial: Ints, states: list[tuple[Becomes, int]], steps: list[list[list[tuple[int, int, float]]]]
) -> Found:
    names: dict[str, int] = {}
    for becomes, o in states:
        possible = np.array(sorted({s for s in becomes if s >= 0}))
        name = named_set(flat.states, possible)
        name = name if o < 0 or len(flat.observations) < 2 else f"{name} after {flat.observations[o]}"
        names[name if name not in names else f"{name} ({len(names)})"] = len(names)
    labels = tuple(flat.states[s] for s in initial)
    found = Found(
        name=flat.name, states=list(names), actions=flat.actions, observations=(),
        components=[Component("start", labels, tuple(range(len(labels))), flat.start[initial])],
        start=0, discount=flat.discount,
        summary=f"hidden: which of {len(initial):,} states was the first; observed: what each has become, "
        f"{len(states):,} possibilities",
        numbers=ListedNumbers(flat.places, np.array([becomes for becomes, _ in states])),
    )  # fmt: skip
    own = np.arange(len(initial))
    for x, (becomes, _) in enumerate(states):
        now = np.array(becomes)
        absent = np.flatnonzero(now == _IMPOSSIBLE)
        for a, outcomes in enumerate(steps[x]):
            listed = np.array(outcomes, np.float64).reshape(-1, 3)
            triples = (
                np.concatenate([listed[:, 0].astype(np.int64), absent]),
                np.concatenate([listed[:, 1].astype(np.int64), np.full(len(absent), x)]),
                np.concatenate([listed[:, 2], np.ones(len(absent))]),
            )
            gain = np.where(now == _IMPOSSIBLE, 0.0, flat.reward[now, a])
            found.add_step(x, a, 0, triples, gain, own)
    return found
