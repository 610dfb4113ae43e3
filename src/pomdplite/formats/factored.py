"""From a network of variables to a POMDP-lite, factor by factor.

The observed variables are x. The hidden ones are θ if every change of theirs is a function of θ, x and a. For each
(x, a) we list the hidden variables that matter: to the next state, to what is seen there, to the reward, or to a
change. If several matter to one (x, a), they form one component together, and so do those that depend on one another
in the beginning. All others are components of their own.

A network that this does not cover, perhaps because observations reveal what changes by chance, raises `NotFactored`.
"""

import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import TooLargeError
from pomdplite.formats.factors import Branch, Factor, Restricted, Restriction
from pomdplite.formats.file_model import NONE, Found
from pomdplite.formats.network import Network, Variable
from pomdplite.formats.numbering import FactoredNumbers
from pomdplite.model.hidden_table import JOINT_LIMIT
from pomdplite.model.spaces import Component

_MOST_STATES = 200_000
_MOST_NEXT = 1_000_000  # next states of one (x, a)

Values = dict[str, int]


class NotFactored(Exception):
    """The variables of the network are not x and θ as they stand; the message says why."""


@dataclass
class FactoredStep:
    """What happens in x after an action, for every hidden value."""

    outcomes: list[tuple[Values, list[Branch]]]  # next values of observed variables, and factors of their probability
    changes: dict[str, Restricted]  # by hidden variable: the distributions, 0 or 1, of its next value
    rewards: list[list[Restricted]]  # for each reward: one function, or one for each outcome
    matters: set[str]  # hidden variables


class Hiddens(NamedTuple):
    """The joint values of a component."""

    members: list[Variable]
    shape: tuple[int, ...]
    each: Ints  # [joint value] its number
    at: dict[str, Ints]  # by the name of a member before the step: [joint value] its value

    @property
    def size(self) -> int:
        """How many there are."""
        return len(self.each)


class Factored:
    """Finds x, θ and its components in a network."""

    def __init__(self, net: Network, observed: set[str]) -> None:
        self.net = net
        self.seen = net.in_order([v for v in net.states if v.name in observed])
        self.hidden = [v for v in net.states if v.name not in observed]
        self.by_name = {v.name: v for v in self.hidden}
        self.before = {v.after: v.name for v in self.hidden}
        fixed = {v.name for v in net.actions} | {v.name for v in self.seen} | {v.after for v in self.seen}
        self.transition = {n: Restriction(f, fixed - {n}) for n, f in net.transition.items()}
        self.sight = [Restriction(net.sight[v.name], fixed) for v in net.observations]
        self.rewards = [Restriction(f, fixed) for f in net.rewards]
        self.actions, self.names = net.action_values(), net.action_names()
        self.group = {v.name: v.name for v in self.hidden}  # union-find
        after, seen = {v.after for v in net.states}, {v.name for v in net.observations}
        self.late = [not after.isdisjoint(f.variables) for f in net.rewards]
        self.seeing = [f for f in net.rewards if not seen.isdisjoint(f.variables)]
        self._sights: dict[tuple[int, ...], list[Restricted]] = {}  # by the next x and the action
        self._kept: dict[int, bool] = {}  # whether a change, by its id, is none
        self._triples: dict[tuple[int, ...], tuple[Ints, Ints, Floats]] = {}  # Z by component and functions

    # ------------------------------------------------------------------ steps

    def step(self, x: Values, a: int) -> FactoredStep:
        """Everything that (x, a) leads to."""
        context = {**x, **self.actions[a]}

        def where() -> str:
            return f"after {self.names[a]} in {self.net.state_name(self.seen, x) or 'every state'}"

        outcomes: list[tuple[Values, list[Branch]]] = [({}, [])]
        for variable in self.seen:
            further: list[tuple[Values, list[Branch]]] = []
            for after, factors in outcomes:
                found = self.transition[variable.after].at({**context, **after} if after else context)
                self._need_before(found)
                for branch in found.branches(where):
                    further.append(({**after, variable.after: branch.value}, [*factors, branch]))
            outcomes = further
            if len(outcomes) > _MOST_NEXT:
                raise TooLargeError(f"{self.net.file}: more than {_MOST_NEXT:,} next states {where()}.")
        matters = {name for _, factors in outcomes for branch in factors for name in branch.parents}
        contexts = [{**context, **after} for after, _ in outcomes]
        changes: dict[str, Restricted] = {}
        for variable in self.hidden:
            for values in contexts:
                found = self.transition[variable.after].at(values)
                self._need_before(found)
                known = changes.setdefault(variable.name, found)
                if not found.certain(where) or not _equal(known, found):
                    raise NotFactored(f"{variable.name.removesuffix('_0')} changes by chance {where()}")
            if self._stays(changes[variable.name], variable):
                del changes[variable.name]
            else:
                matters |= {variable.name, *changes[variable.name].parents}
        if self.seeing:
            raise NotFactored("rewards depend on observations")
        rewards: list[list[Restricted]] = []
        for reward, late in zip(self.rewards, self.late, strict=True):
            rewards.append([reward.at(values) for values in (contexts if late else contexts[:1])])
            for found in rewards[-1]:
                matters |= self._named_before(found, changes)
        for after, _ in outcomes:
            for found in self.sights(after, a):
                matters |= self._named_before(found, changes)
        return FactoredStep(outcomes, changes, rewards, matters)

    def sights(self, after: Values, a: int) -> list[Restricted]:
        """Z of each observation variable, where the observed variables have these next values."""
        key = (*after.values(), a)
        if key not in self._sights:
            values = {**after, **self.actions[a]}
            self._sights[key] = [sight.at(values) for sight in self.sight]
            for function in self._sights[key]:
                function.distribution(lambda: f"after {self.names[a]}")
        return self._sights[key]

    def _stays(self, change: Restricted, variable: Variable) -> bool:
        """Whether a hidden variable keeps its value."""
        if id(change) not in self._kept:
            count = len(variable.values)
            same = change.parents == (variable.name,) and np.array_equal(change.table, np.eye(count))
            self._kept[id(change)] = count == 1 or same
        return self._kept[id(change)]

    def _need_before(self, found: Restricted) -> None:
        """Hidden variables may matter to a step by their values before it."""
        if found.parents and any(name in self.before for name in found.parents):
            raise NotFactored(f"{found.factor.child} depends on the next value of a hidden variable")

    def _named_before(self, found: Restricted, changes: Mapping[str, Restricted]) -> set[str]:
        """The hidden variables that a function names, and those on which their next values depend."""
        if not found.parents:
            return set()
        names = {self.before.get(name, name) for name in found.parents}
        return names.union(*(changes[name].parents for name in names if name in changes))

    # ------------------------------------------------------------------ everything that can happen

    def found(self) -> Found:
        """The POMDP-lite; NotFactored if this is not the way to find it."""
        start = self.start()
        numbers = {_key(start): 0}
        states, waiting = [start], deque([0])
        steps: dict[tuple[int, int], FactoredStep] = {}
        while waiting:
            x = waiting.popleft()
            for a in range(len(self.actions)):
                step = steps[x, a] = self.step(states[x], a)
                self._join(step.matters)
                for after, _ in step.outcomes:
                    if _key(after) not in numbers:
                        if len(states) >= _MOST_STATES:
                            raise TooLargeError(f"{self.net.file}: more than {_MOST_STATES:,} observed states.")
                        numbers[_key(after)] = len(states)
                        waiting.append(len(states))
                        states.append({v.name: after[v.after] for v in self.seen})
        for variable in self.hidden:
            self._join({variable.name, *self._initial(variable, start).parents})
        order = sorted(range(len(states)), key=lambda i: _key(states[i]))  # as the file lists the values
        place = {old: new for new, old in enumerate(order)}
        groups = self._groups()
        found = Found(
            name=self.net.file,
            states=[self.net.state_name(self.seen, states[i]) or "the only state" for i in order],
            actions=self.names,
            observations=self.net.observation_names() if self.net.observations else (),
            components=self._components(groups, start),
            start=place[0],
            discount=self.net.discount,
            summary=self._summary(groups),
            numbers=self._numbers(groups, [states[i] for i in order]),
        )
        number = {name: i for i, names in enumerate(groups) for name in names}
        hiddens = {c: self._hiddens(groups, c) for c in range(NONE, len(groups))}
        for (x, a), step in steps.items():
            ys = [place[numbers[_key(after)]] for after, _ in step.outcomes]
            component = number[next(iter(step.matters))] if step.matters else NONE
            self._add_step(found, place[x], a, component, hiddens[component], step, ys)
            for (after, _), next_x in zip(step.outcomes, ys, strict=True):
                if self.sight and found.seen_row[next_x, a] == NONE:
                    self._add_sight(found, next_x, a, component, hiddens, self.sights(after, a))
        return found

    def _hiddens(self, groups: list[list[str]], component: int) -> Hiddens:
        members = [] if component == NONE else [self.by_name[name] for name in groups[component]]
        shape = tuple(len(v.values) for v in members)
        size = int(np.prod(shape, dtype=np.int64))
        own = np.indices(shape).reshape(len(shape), size) if shape else np.zeros((0, 1), np.int64)
        return Hiddens(members, shape, np.arange(size), {v.name: own[i] for i, v in enumerate(members)})

    def _add_step(
        self, found: Found, x: int, a: int, component: int, hidden: Hiddens, step: FactoredStep, ys: list[int]
    ) -> None:
        at, size, later = dict(hidden.at), hidden.size, hidden.each
        for v in hidden.members:
            change = step.changes.get(v.name)
            at[v.after] = at[v.name] if change is None else _look_up(
                change.parents, change.table.argmax(axis=-1), at, size
            )  # fmt: skip
        if step.changes:
            later = np.asarray(np.ravel_multi_index([at[v.after] for v in hidden.members], hidden.shape), np.int64)
        alike = [math.prod(b.table for b in factors if not b.parents) for _, factors in step.outcomes]
        chances = np.array(alike, np.float64).repeat(size).reshape(len(ys), size)  # for all hidden values
        for k, (_, factors) in enumerate(step.outcomes):
            for branch in factors:
                if branch.parents:
                    chances[k] *= _look_up(branch.parents, branch.table, at, size)
        gain = np.zeros(size)
        for functions in step.rewards:
            values = [_look_up(f.variables, f.table, at, size) if f.variables else f.table for f in functions]
            varies = len(values) > 1 and any((value != values[0]).any() for value in values)
            gain += sum(chances[k] * value for k, value in enumerate(values)) if varies else values[0]
        every = hidden.each if len(ys) == 1 else np.concatenate([hidden.each] * len(ys))
        triples = every, np.array(ys, np.int64).repeat(size), chances.ravel()
        found.add_step(x, a, component, triples, gain, later)

    def _add_sight(
        self, found: Found, y: int, a: int, component: int, hiddens: dict[int, Hiddens], functions: list[Restricted]
    ) -> None:
        if not any(f.parents for f in functions):
            component = NONE
        hidden = hiddens[component]
        key = (component, *(id(f) for f in functions))
        if key not in self._triples:
            at = {v.after: hidden.at[v.name] for v in hidden.members}
            table = np.ones((hidden.size, 1))
            for f in functions:
                shown = _look_up(f.parents, f.table, at, hidden.size)
                table = (table[:, :, None] * shown[:, None, :]).reshape(hidden.size, -1)
            value, o = np.nonzero(table)
            self._triples[key] = value, o, table[value, o]
        found.add_sight(y, a, component, self._triples[key])

    # ------------------------------------------------------------------ components

    def _join(self, names: Iterable[str]) -> None:
        roots = sorted({self._root(name) for name in names})
        for root in roots[1:]:
            self.group[root] = roots[0]

    def _root(self, name: str) -> str:
        while self.group[name] != name:
            self.group[name] = self.group[self.group[name]]
            name = self.group[name]
        return name

    def _groups(self) -> list[list[str]]:
        found: dict[str, list[str]] = {}
        for variable in self.hidden:
            found.setdefault(self._root(variable.name), []).append(variable.name)
        return list(found.values())

    def _components(self, groups: list[list[str]], start: Values) -> list[Component]:
        found = []
        for names in groups:
            members = [self.by_name[name] for name in names]
            shape = tuple(len(v.values) for v in members)
            size = int(np.prod([float(n) for n in shape]))
            if size > JOINT_LIMIT:
                raise TooLargeError(
                    f"{self.net.file}: {', '.join(names)} matter together, and have {size:,} joint values; the limit "
                    f"is {JOINT_LIMIT:,}."
                )
            own = np.indices(shape).reshape(len(shape), size)
            at = dict(zip(names, own, strict=True))
            prior = np.ones(size)
            for variable in members:
                given = self._initial(variable, start)
                prior *= _look_up(given.variables, given.table, at, size)
            labels = tuple(" ".join(v.values[i] for v, i in zip(members, row, strict=True)) for row in own.T.tolist())
            title = "+".join(name.removesuffix("_0") for name in names)
            found.append(Component(title, labels, tuple(range(size)), prior))
        return found or [Component("nothing", ("none",), (0,), np.ones(1))]

    def _numbers(self, groups: list[list[str]], states: list[Values]) -> FactoredNumbers:
        """How the file numbers x and θ; of what we know, it may count some as hidden."""
        stride, declared = self.net.file_strides(), {v.name for v in self.net.states if v.observed}
        sums = {
            observed: [sum(i * stride[n] for n, i in x.items() if (n in declared) == observed) for x in states]
            for observed in (True, False)
        }
        parts = []
        for names in groups:
            sizes = [range(len(self.by_name[name].values)) for name in names]
            parts.append([sum(i * stride[n] for n, i in zip(names, row, strict=True)) for row in product(*sizes)])
        return FactoredNumbers(*self.net.file_sizes(), sums[True], sums[False], parts)

    def start(self) -> Values:
        """The initial values of the observed variables, which must be certain."""
        start: Values = {}
        for variable in self.seen:
            found = Restriction(self.net.initial[variable.name], set()).at({})
            table = found.distribution(lambda: "in the beginning").reshape(-1, len(variable.values))
            if not (table == table[0]).all() or table[0].max() != 1:
                found.factor.place.refuse(
                    f"{variable.name} is observed but begins with different values by chance; a model begins in one x"
                )
            start[variable.name] = int(table[0].argmax())
        return start

    def _initial(self, variable: Variable, start: Values) -> Restricted:
        factor: Factor = self.net.initial[variable.name]
        found = Restriction(factor, set(start)).at(start)
        found.distribution(lambda: "in the beginning")
        return found

    def _summary(self, groups: list[list[str]]) -> str:
        observed = ", ".join(v.name.removesuffix("_0") for v in self.seen) or "nothing"
        hidden = ", ".join("+".join(n.removesuffix("_0") for n in names) for names in groups) or "nothing"
        return f"observed: {observed}; hidden: {hidden}"


def _look_up(variables: tuple[str, ...], table: Any, at: Mapping[str, Ints], size: int) -> Any:
    """The table at each of `size` joint values; axes beyond those of the variables stay."""
    if not variables:
        return np.broadcast_to(table, (size, *np.shape(table)))
    return table[tuple(at[name] for name in variables)]


def _equal(one: Restricted, other: Restricted) -> bool:
    return one is other or (one.variables == other.variables and np.array_equal(one.table, other.table))


def _key(x: Values) -> tuple[int, ...]:
    return tuple(x.values())
