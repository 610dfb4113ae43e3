"""The tables of an `UnknownMdp`: what a user may write, checked and numbered.

An (s, a) has outcomes (s', reward), numbered 0, 1, …; a distribution over these numbers belongs to one (s, a), or to
all those of a tie.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints
from pomdplite.errors import ModelError, shown

_SAME = 1e-9  # probabilities that tied (s, a) are given


class Names:
    """The names of states and actions: given, or generated."""

    def __init__(self, states: int | Sequence[str], actions: int | Sequence[str]) -> None:
        self.states = _names(states, "s", "states")
        self.actions = _names(actions, "a", "actions")
        self._index = [{name: i for i, name in enumerate(names)} for names in (self.states, self.actions)]

    @property
    def shape(self) -> tuple[int, int]:
        """How many states and actions there are."""
        return len(self.states), len(self.actions)

    def state(self, given: Any) -> int:
        """The number of a state, given by number or name."""
        return self._number(given, 0, "state")

    def pair(self, given: Any) -> tuple[int, int]:
        """The numbers of an (s, a)."""
        if not isinstance(given, tuple) or len(given) != 2:
            raise ModelError(f"expected a pair (state, action), not {shown(given)}.")
        return self.state(given[0]), self._number(given[1], 1, "action")

    def place(self, s: int, a: int) -> str:
        """An (s, a) as text."""
        return f"{self.states[s]}, {self.actions[a]}"

    def _number(self, given: Any, kind: int, what: str) -> int:
        if isinstance(given, (int, np.integer)) and 0 <= int(given) < self.shape[kind]:
            return int(given)
        if not isinstance(given, str) or given not in self._index[kind]:
            raise ModelError(f"no {what} {shown(given)}; there are {self.shape[kind]:,} {what}s.")
        return self._index[kind][given]


def _names(given: Any, letter: str, what: str) -> tuple[str, ...]:
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 1:
        return tuple(f"{letter}{i}" for i in range(int(given)))
    if isinstance(given, (tuple, list)) and given and len({str(n) for n in given}) == len(given):
        return tuple(map(str, given))
    raise ModelError(f"{what} must be their number, or a list of distinct names, not {shown(given)}.")


def _array(given: Any, what: str) -> Floats:
    """An array of the numbers given."""
    try:
        return np.asarray(given, float)
    except (TypeError, ValueError):
        raise ModelError(f"{what} must be numbers, not {shown(given)}.") from None


def _is_single(given: Any) -> bool:
    """Whether this is one thing rather than an array or nested lists."""
    return isinstance(given, str) or (not isinstance(given, Sequence) and np.ndim(given) == 0)


Outcomes = dict[tuple[int, int], list[tuple[int, float]]]  # (s, a): its outcomes (s', reward)


def listed_outcomes(names: Names, used: Flags, reward: Any, outcomes: Any, counts: Any) -> Outcomes:
    """The outcomes of every (s, a) that is used."""
    gain = _Rewards(names, reward)
    if not used.any():
        raise ModelError("no (s, a) is left: every state is terminal or has no legal action.")
    if outcomes is not None and not isinstance(outcomes, Mapping):
        raise ModelError(f"outcomes must be a dictionary {{(s, a): next states}}, not {shown(outcomes)}.")
    given = {} if outcomes is None else {names.pair(pair): own for pair, own in outcomes.items()}
    possible = _support(names, counts)
    found: Outcomes = {}
    for s, a in (tuple(map(int, pair)) for pair in np.argwhere(used)):
        everything: Any = range(len(names.states)) if possible is None else np.flatnonzero(possible[s, a])
        possible_next = given.get((s, a), everything)
        if not isinstance(possible_next, Iterable) or isinstance(possible_next, str):
            raise ModelError(f"the outcomes of ({names.place(s, a)}) must be a list, not {shown(possible_next)}.")
        own = [_outcome(names, gain, s, a, one) for one in possible_next]
        if not own:
            raise ModelError(f"({names.place(s, a)}) has no possible next state.")
        found[s, a] = own
    return found


def _outcome(names: Names, gain: "_Rewards", s: int, a: int, given: Any) -> tuple[int, float]:
    if not isinstance(given, tuple):
        after = names.state(given)
        return after, gain.of(s, a, after)
    if len(given) != 2 or not isinstance(given[1], (int, float, np.number)) or not np.isfinite(given[1]):
        raise ModelError(f"an outcome of ({names.place(s, a)}) must be a next state, or (next state, reward), not "
                         f"{shown(given)}.")  # fmt: skip
    return names.state(given[0]), float(given[1])


def _support(names: Names, counts: Any) -> Flags | None:
    """Where an array of counts allows a next state; None if counts are not an array."""
    if isinstance(counts, Mapping) or _is_single(counts):
        return None
    given, (states, actions) = _array(counts, "counts"), names.shape
    if given.shape != (states, actions, states):
        raise ModelError(f"counts has shape {given.shape}; expected {(states, actions, states)}, [s, a, s'].")
    if not np.isfinite(given).all() or (given < 0).any():
        s, a, after = (int(i) for i in np.argwhere(~(np.isfinite(given) & (given >= 0)))[0])
        raise ModelError(
            f"the prior count of ({names.place(s, a)}) for {names.states[after]} is {given[s, a, after]:g}; counts are "
            "positive, or 0 for what is impossible."
        )
    return given > 0


class _Rewards:
    """Known rewards, given as an array or a dictionary."""

    def __init__(self, names: Names, reward: Any) -> None:
        states, actions = names.shape
        self._names, self._given = names, None
        if isinstance(reward, Mapping):
            self._given = dict(self._read(key, r) for key, r in reward.items())
            return
        self._table = _array(reward, "reward")
        if self._table.shape not in ((states, actions), (states, actions, states)):
            raise ModelError(
                f"reward has shape {self._table.shape}; expected {(states, actions)}, [s, a], or "
                f"{(states, actions, states)}, [s, a, s']."
            )
        if not np.isfinite(self._table).all():
            s, a = (int(i) for i in np.argwhere(~np.isfinite(self._table))[0][:2])
            raise ModelError(f"reward is not a number at ({names.place(s, a)}).")

    def _read(self, key: Any, reward: Any) -> tuple[tuple[int, ...], float]:
        """An entry of a dictionary."""
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise ModelError(f"reward has the key {shown(key)}; expected (s, a) or (s, a, s').")
        if not isinstance(reward, (int, float, np.number)) or not np.isfinite(reward):
            raise ModelError(f"reward is not a number at {shown(key)}: {shown(reward)}.")
        return (*self._names.pair(key[:2]), *map(self._names.state, key[2:])), float(reward)

    def of(self, s: int, a: int, after: int) -> float:
        """The reward of one outcome."""
        if self._given is not None:
            return self._given.get((s, a, after), self._given.get((s, a), 0.0))
        return float(self._table[s, a] if self._table.ndim == 2 else self._table[s, a, after])


@dataclass(frozen=True)
class OutcomeTables:
    """The tables of the model's functions, and the priors of its distributions."""

    after: Ints  # [s, a, k] next state
    gain: Floats  # [s, a, k] reward
    group: Ints  # [s, a] distribution
    label: Ints  # [distribution, k] observation, -1 for none
    observations: tuple[str, ...]
    counts: dict[str, Floats]  # of every distribution, by name
    truth: dict[str, Floats] | None


def outcome_tables(names: Names, listed: Outcomes, ties: Mapping[str, Any], counts: Any, truth: Any) -> OutcomeTables:
    """Number the distributions, and give each its counts."""
    members = _distributions(names, listed, ties)
    states, actions = names.shape
    width = max(len(own) for own in listed.values())
    after = np.broadcast_to(np.arange(states)[:, None, None], (states, actions, width)).copy()
    gain, group = np.zeros((states, actions, width)), np.zeros((states, actions), np.int64)
    for number, pairs in enumerate(members.values()):
        for s, a in pairs:
            group[s, a] = number
            for k, (y, r) in enumerate(listed[s, a]):
                after[s, a, k], gain[s, a, k] = y, r
    label, observations = _seen_rewards(names, listed, members, width)
    priors = _Numbers(names, listed, members, counts, "counts").all()
    real = None if truth is None else _Numbers(names, listed, members, truth, "truth").all()
    return OutcomeTables(after, gain, group, label, observations, priors, real)


def _distributions(names: Names, listed: Outcomes, ties: Mapping[str, Any]) -> dict[str, list[tuple[int, int]]]:
    """The (s, a) of every distribution: the ties, then every other (s, a) by itself."""
    found: dict[str, list[tuple[int, int]]] = {}
    tied: dict[tuple[int, int], str] = {}
    if not isinstance(ties, Mapping):
        raise ModelError(f"ties must be a dictionary {{name: [(s, a), …]}}, not {shown(ties)}.")
    for name, given in ties.items():
        pairs = [pair for pair in map(names.pair, given) if pair in listed]
        if not pairs:
            raise ModelError(f"the tie {name!r} has no (s, a).")
        for pair in pairs:
            if pair in tied:
                raise ModelError(f"({names.place(*pair)}) is in two ties, {tied[pair]!r} and {name!r}.")
            if len(listed[pair]) != len(listed[pairs[0]]):
                raise ModelError(
                    f"the tie {name!r} has different supports: ({names.place(*pairs[0])}) has {len(listed[pairs[0]])} "
                    f"outcomes and ({names.place(*pair)}) has {len(listed[pair])}."
                )
            tied[pair] = name
        found[str(name)] = pairs
    for pair, own in listed.items():
        if pair not in tied:
            if len(set(own)) < len(own):
                raise ModelError(f"({names.place(*pair)}) lists an outcome twice.")
            found[names.place(*pair)] = [pair]
    return found


def _seen_rewards(
    names: Names, listed: Outcomes, members: Mapping[str, list[tuple[int, int]]], width: int
) -> tuple[Ints, tuple[str, ...]]:
    """Which reward is observed after an outcome, where the next state does not tell; and the rewards' names."""
    label = np.full((len(members), width), -1, np.int64)
    hidden: dict[int, list[float]] = {}  # distribution: the rewards of its outcomes, if they have to be observed
    for number, (name, pairs) in enumerate(members.items()):
        if all(len({y for y, _ in listed[pair]}) == len(set(listed[pair])) for pair in pairs):
            continue
        hidden[number] = [r for _, r in listed[pairs[0]]]
        if any([r for _, r in listed[pair]] != hidden[number] for pair in pairs):
            raise ModelError(
                f"the tie {name!r} has outcomes that differ in their rewards alone; all its (s, a) must then have the "
                "same rewards."
            )
    rewards = sorted({r for own in hidden.values() for r in own})
    for number, own in hidden.items():
        label[number, : len(own)] = [rewards.index(r) for r in own]
    return label, tuple(f"reward {r:g}" for r in rewards)


class _Numbers:
    """Numbers for the outcomes of distributions: prior counts, or true probabilities."""

    def __init__(
        self, names: Names, listed: Outcomes, members: Mapping[str, list[tuple[int, int]]], given: Any, what: str
    ) -> None:
        self._names, self._listed, self._members, self._what = names, listed, members, what
        self._given = given if isinstance(given, Mapping) or _is_single(given) else _array(given, what)
        if isinstance(given, Mapping):
            self._given = {k if isinstance(k, str) else names.place(*names.pair(k)): v for k, v in given.items()}
            unknown = [name for name in self._given if name not in members]
            if unknown:
                raise ModelError(f"{what} names ({unknown[0]}), which is neither a tie nor an (s, a) of its own.")
        elif _is_single(given) and (what == "truth" or not isinstance(given, (int, float, np.number))):
            raise ModelError(f"{what} must be an array [s, a, s'] or a dictionary, not {shown(given)}.")

    def all(self) -> dict[str, Floats]:
        """The numbers of every distribution."""
        return {name: self._of(name) for name in self._members}

    def _of(self, name: str) -> Floats:
        pairs, given, what = self._members[name], self._given, self._what
        if isinstance(given, Mapping):
            return self._looked_up(name, given)
        if _is_single(given):
            return np.full(len(self._listed[pairs[0]]), float(given))
        rows = [self._from_array(pair, given) for pair in pairs]
        if any(not np.allclose(row, rows[0], 0, _SAME) for row in rows):
            raise ModelError(f"{what} differs between the (s, a) of the tie {name!r}; give a dictionary with its name.")
        return rows[0]

    def _looked_up(self, name: str, given: Mapping[str, Any]) -> Floats:
        own, what = given.get(name), self._what
        size = len(self._listed[self._members[name][0]])
        if own is None and what == "counts":
            own = 1.0
        if own is None:
            raise ModelError(f"{what} gives nothing for ({name}).")
        read = _array(own, f"what {what} gives ({name})")
        found = np.full(size, float(read)) if read.ndim == 0 else read
        if found.shape != (size,):
            raise ModelError(f"{what} gives ({name}) {found.size} numbers, but it has {size} outcomes.")
        return found

    def _from_array(self, pair: tuple[int, int], given: Floats) -> Floats:
        (states, actions), what = self._names.shape, self._what
        if given.shape != (states, actions, states):
            raise ModelError(f"{what} has shape {given.shape}; expected {(states, actions, states)}, [s, a, s'].")
        after = [y for y, _ in self._listed[pair]]
        place = self._names.place(*pair)
        if len(set(after)) < len(after):
            raise ModelError(f"({place}) reaches a next state by several outcomes; give {what} as a dictionary.")
        outside = np.flatnonzero((given[pair] > 0) & ~np.isin(np.arange(states), after))
        if len(outside) > 0:
            y = self._names.states[int(outside[0])]
            raise ModelError(f"{what} lets ({place}) lead to {y}, which is not one of its outcomes.")
        found: Floats = given[pair][after]
        return found
