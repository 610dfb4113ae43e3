"""A network with its variables multiplied out into one list of states: those that can be reached."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from pomdplite.compile.jit import Floats
from pomdplite.errors import TooLargeError
from pomdplite.formats.factors import Factor, Restricted, Restriction
from pomdplite.formats.file_model import NO_OBSERVATION
from pomdplite.formats.flat import Flat, expected
from pomdplite.formats.network import Network
from pomdplite.formats.numbering import FilePlaces

_MOST_STATES = 20_000
_MOST_STEPS = 5_000_000  # (s, a, s')

Values = dict[str, int]


def flattened(net: Network, observed: set[str]) -> Flat:
    """The same POMDP with one list of states; the observed variables are part of the observations."""
    return _Flattener(net, observed).flat()


class _Flattener:
    def __init__(self, net: Network, observed: set[str]) -> None:
        self.net = net
        self.seen = [v for v in net.states if v.name in observed]
        self.ordered = net.in_order(net.states)
        self.functions = {n: _given(f) for n, f in {**net.transition, **net.sight}.items()}
        self.rewards = [_given(f) for f in net.rewards]
        self.actions, self.names = net.action_values(), net.action_names()
        self.numbers: dict[tuple[int, ...], int] = {}
        self.observations: dict[tuple[int, ...], int] = {}

    def flat(self) -> Flat:
        start = self._initial()
        states = list(start)
        self.numbers = {state: i for i, state in enumerate(states)}
        steps: list[list[tuple[int, int, float]]] = [[] for _ in self.actions]
        sights: list[dict[tuple[int, int], float]] = [{} for _ in self.actions]
        gains: list[list[float]] = []
        for s, state in enumerate(states):  # which grows as we go
            gains.append([])
            for a in range(len(self.actions)):
                gains[-1].append(self._step(states, s, state, a, steps[a], sights[a]))
        size, seen = len(states), len(self.observations)
        names = [self.net.state_name(self.net.states, self._named(state)) for state in states]
        return Flat(
            name=self.net.file, states=names, actions=self.names, observations=self._observation_names(),
            transition=[_matrix([(s, y) for s, y, _ in t], [p for *_, p in t], (size, size)) for t in steps],
            sight=[_matrix(list(z), list(z.values()), (size, seen)) for z in sights],
            reward=np.array(gains),
            start=np.array([*start.values(), *[0.0] * (size - len(start))]),
            discount=self.net.discount, places=self._places(states),
        )  # fmt: skip

    def _places(self, states: list[tuple[int, ...]]) -> FilePlaces:
        """Where the file's own numbering has these states."""
        stride, declared = self.net.file_strides(), {v.name for v in self.net.states if v.observed}
        side: dict[bool, list[int]] = {True: [], False: []}
        for state in states:
            for observed, numbers in side.items():
                named = self._named(state).items()
                numbers.append(sum(i * stride[name] for name, i in named if (name in declared) == observed))
        return FilePlaces(*self.net.file_sizes(), side[True], side[False])

    def _named(self, state: tuple[int, ...]) -> Values:
        return {v.name: value for v, value in zip(self.net.states, state, strict=True)}

    def _initial(self) -> dict[tuple[int, ...], float]:
        """The initial states with their probabilities."""
        done: dict[str, Any] = {}
        waiting = list(self.net.states)
        while waiting:
            ready = [v for v in waiting if set(self.net.initial[v.name].parents) <= done.keys()]
            if not ready:
                self.net.initial[waiting[0].name].place.refuse(f"{waiting[0].name} depends on itself in the beginning")
            done |= {v.name: v for v in ready}
            waiting = [v for v in waiting if v.name not in done]
        partial: list[tuple[Values, float]] = [({}, 1.0)]
        for name in done:
            given = _given(self.net.initial[name])
            partial = [
                ({**values, name: value}, p * q)
                for values, p in partial
                for value, q in _chances(given.at(values), lambda: "in the beginning")
            ]
            self._limit(len(partial))
        return {tuple(values[v.name] for v in self.net.states): p for values, p in partial}

    def _limit(self, count: int) -> None:
        if count > _MOST_STATES:
            raise TooLargeError(
                f"{self.net.file}: more than {_MOST_STATES:,} states when variables are multiplied out."
            )

    def _step(
        self, states: list[tuple[int, ...]], s: int, state: tuple[int, ...], a: int,
        steps: list[tuple[int, int, float]], sights: dict[tuple[int, int], float],
    ) -> float:  # fmt: skip
        """Add what follows (s, a); return the expected reward."""
        values = {**self._named(state), **self.actions[a]}

        def where() -> str:
            return f"after {self.names[a]} in {self.net.state_name(self.net.states, values)}"

        outcomes: list[tuple[Values, float]] = [(values, 1.0)]
        for variable in self.ordered:
            outcomes = [
                ({**given, variable.after: value}, p * q)
                for given, p in outcomes
                for value, q in _chances(self.functions[variable.after].at(given), where)
            ]
            self._limit(len(outcomes))
        ends: list[tuple[Values, float]] = []
        for given, p in outcomes:
            after = tuple(given[v.after] for v in self.net.states)
            if after not in self.numbers:
                self._limit(len(states) + 1)
                self.numbers[after] = len(states)
                states.append(after)
            steps.append((s, self.numbers[after], p))
            ends += self._sights(given, p, self.numbers[after], sights, where)
        if len(steps) > _MOST_STEPS:
            raise TooLargeError(f"{self.net.file}: more than {_MOST_STEPS:,} steps when variables are multiplied out.")
        chances = np.array([p for _, p in ends])
        gain = 0.0
        for reward in self.rewards:
            gain += expected(chances, np.array([float(reward.at(given).table) for given, _ in ends]))
        return gain

    def _sights(
        self, given: Values, p: float, y: int, sights: dict[tuple[int, int], float], where: Any
    ) -> list[tuple[Values, float]]:
        tables = [_chances(self.functions[v.name].at(given), where) for v in self.net.observations]
        shown = tuple(given[v.after] for v in self.seen)
        found = []
        for combination in product(*tables):
            q = float(np.prod([q for _, q in combination]))
            key = (*(i for i, _ in combination), *shown)
            sights[y, self.observations.setdefault(key, len(self.observations))] = q
            names = {v.name: i for v, (i, _) in zip(self.net.observations, combination, strict=True)}
            found.append(({**given, **names}, p * q))
        return found

    def _observation_names(self) -> list[str]:
        variables = [*self.net.observations, *self.seen]
        names = [" ".join(v.values[i] for v, i in zip(variables, key, strict=True)) for key in self.observations]
        return names if variables else [NO_OBSERVATION]


def _given(factor: Factor) -> Restriction:
    """A conditional probability with its parents fixed, or a reward with everything fixed."""
    return Restriction(factor, set(factor.parents))


def _chances(found: Restricted, where: Callable[[], str]) -> list[tuple[int, float]]:
    """The values that a variable may take, with their probabilities."""
    return [(value, p) for value, p in zip(found.named, found.check(where).tolist(), strict=True) if p > 0]


def _matrix(places: list[tuple[int, int]], numbers: list[float], shape: tuple[int, int]) -> Any:
    rows, columns = np.array(places, np.int64).reshape(-1, 2).T
    values: Floats = np.array(numbers)
    return csr_matrix((values, (rows, columns)), shape=shape)
