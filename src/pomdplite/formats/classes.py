"""Split the states of a POMDP into what is always known, x, and what is not, θ.

We look for the finest partition of the reachable states such that the history always tells the class of the present
state:

- all states that are possible in the beginning are in one class;
- for each class, action and observation, all states that are possible next are in one class.

Starting from single states, we join what these rules join until nothing changes. The class is x. If every (s, a) leads
to at most one state of each class, the state inside the class changes as a function of the step. If moreover the
class tells what each initial state has become, whatever the history, θ is the initial state and constant. Otherwise θ
numbers the states of each class. φ does not see the next x, so all states that one (s, a) may lead to need the same
number. Where possible, a state also keeps the number of the state before it, so that θ changes rarely.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from pomdplite.compile.jit import Ints
from pomdplite.errors import TooLargeError
from pomdplite.formats.file_model import Found
from pomdplite.formats.flat import Flat, named_set
from pomdplite.formats.numbering import ListedNumbers
from pomdplite.model.hidden_table import JOINT_LIMIT
from pomdplite.model.spaces import Component

_MOST_TRIPLES = 30_000_000  # (class, next state, observation) that are looked at together
_UNREACHED = -1


def find_classes(flat: Flat) -> Found | None:
    """The POMDP-lite with the classes as x; None if θ cannot number the states of each class."""
    classes = known_classes(flat)
    edges = [_reached_edges(flat, classes, a) for a in range(len(flat.actions))]
    for before, after in edges:
        pairs = before * (classes.max() + 1) + classes[after]
        if len(_distinct(pairs, len(classes) * (int(classes.max()) + 1))) < len(pairs):
            return None  # two states of a class follow one state
    constant = _constant(flat, classes)
    if constant is not None:
        return _assemble(flat, classes, constant, None)
    start = int(classes[flat.start > 0][0])
    numbers = _numbers(classes, edges, start)
    if numbers is None:
        return None
    place = np.full((classes.max() + 1, numbers.max() + 1), _UNREACHED, np.int64)
    reached = np.flatnonzero(classes >= 0)
    place[classes[reached], numbers[reached]] = reached
    return _assemble(flat, classes, place, numbers)


def known_classes(flat: Flat) -> Ints:
    """[state] the number of its class, _UNREACHED if it cannot be reached."""
    count, seen = len(flat.states), len(flat.observations)
    first = np.flatnonzero(flat.start > 0)
    member = np.full(count, _UNREACHED, np.int64)
    member[first] = 0
    links = [np.column_stack([np.append(first[0], first[:-1]), first])]  # states of one class
    dirty = first  # states of classes that are new or have grown
    while len(dirty):
        for a in range(len(flat.actions)):
            before, after = _edges(flat.transition[a], dirty)
            pairs = _distinct(member[before] * count + after, count * count)
            group, after = pairs // count, pairs % count
            sight = flat.sight[a]
            lengths = np.diff(sight.indptr)[after].astype(np.int64)
            if lengths.sum() > _MOST_TRIPLES:
                raise TooLargeError(f"{flat.name}: too many possible observations to find out what they reveal.")
            o = sight.indices[_ranges(sight.indptr[after], lengths)]
            keys, states = np.repeat(group, lengths) * seen + o, np.repeat(after, lengths)
            order = np.argsort(keys, kind="stable")
            same = np.flatnonzero(np.diff(keys[order]) == 0)
            links.append(np.unique(np.column_stack([states[order][same], states[order][same + 1]]), axis=0))
            links.append(np.column_stack([after, after]))  # reached
        joined = np.concatenate(links)
        graph = coo_matrix((np.ones(len(joined)), (joined[:, 0], joined[:, 1])), shape=(count, count))
        label = connected_components(graph, directed=False)[1].astype(np.int64)
        reached = np.zeros(count, bool)
        reached[joined.ravel()] = True
        new = np.where(reached, label, _UNREACHED)
        # A class is unchanged if its states were in one class before, and none has come in.
        changed = np.zeros(label.max() + 1, bool)
        changed[new[reached & (member == _UNREACHED)]] = True
        old = np.flatnonzero(member >= 0)
        leader = np.full(label.max() + 1, -1, np.int64)
        leader[new[old]] = member[old]
        mixed = old[leader[new[old]] != member[old]]
        changed[new[mixed]] = True
        dirty = np.flatnonzero(reached & changed[np.where(reached, new, 0)])
        member = new
        chain = np.argsort(member, kind="stable")
        chain = chain[member[chain] >= 0]
        tied = np.flatnonzero(np.diff(member[chain]) == 0)
        links = [np.column_stack([chain[tied], chain[tied + 1]]), np.column_stack([chain, chain])]
    return _renumbered(member)


def _distinct(keys: Ints, bound: int) -> Ints:
    """The different keys below a bound, sorted."""
    if bound > 8 * len(keys):
        return np.unique(keys)
    seen = np.zeros(bound, bool)
    seen[keys] = True
    return np.flatnonzero(seen)


def _renumbered(member: Ints) -> Ints:
    """Classes numbered in the order of their first states."""
    reached = np.flatnonzero(member >= 0)
    _, index, inverse = np.unique(member[reached], return_index=True, return_inverse=True)
    rank = np.empty(len(index), np.int64)
    rank[np.argsort(index)] = np.arange(len(index))
    classes = np.full(len(member), _UNREACHED, np.int64)
    classes[reached] = rank[inverse]
    return classes


def _edges(matrix: Any, states: Ints) -> tuple[Ints, Ints]:
    """The pairs (s, s') of a sparse matrix with s among these states."""
    row, at = _entries(matrix, states)
    return states[row], matrix.indices[at].astype(np.int64)


def _entries(matrix: Any, states: Ints) -> tuple[Ints, Ints]:
    """Which of the states, and where in the matrix, for each entry in the rows of these states."""
    lengths = np.diff(matrix.indptr).astype(np.int64)[states]
    return np.repeat(np.arange(len(states)), lengths), _ranges(matrix.indptr[states], lengths)


def _ranges(begins: Ints, lengths: Ints) -> Ints:
    """The numbers begin, begin + 1, … of each range, one range after the other."""
    ends: Ints = lengths.cumsum()
    numbers: Ints = np.arange(ends[-1] if len(ends) else 0) + (begins - (ends - lengths)).repeat(lengths)
    return numbers


def _reached_edges(flat: Flat, classes: Ints, a: int) -> tuple[Ints, Ints]:
    return _edges(flat.transition[a], np.flatnonzero(classes >= 0))


# ---------------------------------------------------------------------- numbers inside the classes


def _constant(flat: Flat, classes: Ints) -> Ints | None:
    """[class, θ] the state that each initial state has become there; None if that depends on the history."""
    initial = np.flatnonzero(flat.start > 0)
    if (int(classes.max()) + 1) * len(initial) > _MOST_TRIPLES:
        return None
    place = np.full((int(classes.max()) + 1, len(initial)), _UNREACHED, np.int64)
    start = int(classes[initial[0]])
    place[start] = initial
    waiting = [(start, theta) for theta in range(len(initial))]
    while waiting:
        x, theta = waiting.pop()
        for a in range(len(flat.actions)):
            after = flat.successors(int(place[x, theta]), a)[0]
            y = classes[after]  # all different
            known = place[y, theta]
            new = known == _UNREACHED
            if ((known != after) & ~new).any():
                return None
            place[y[new], theta] = after[new]
            waiting += [(number, theta) for number in y[new].tolist()]
    return place


def _numbers(classes: Ints, edges: list[tuple[Ints, Ints]], start: int) -> Ints | None:
    """[state] θ: different inside a class, and the same after each (s, a); None if there are no such numbers."""
    together: list[Ints] = []
    for before, after in edges:
        same = np.flatnonzero(np.diff(before) == 0)
        together.append(np.column_stack([after[same], after[same + 1]]))
    blocks = _blocks(classes, together)
    if _clash(classes, blocks):
        return None
    blocks = _joined_greedily(classes, blocks, np.concatenate([np.column_stack(pair) for pair in edges]))
    return _coloured(classes, blocks, start)


def _blocks(classes: Ints, links: Iterable[Ints]) -> Ints:
    pairs = np.concatenate([np.zeros((0, 2), np.int64), *links])
    graph = coo_matrix((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(classes), len(classes)))
    return connected_components(graph, directed=False)[1].astype(np.int64)


def _clash(classes: Ints, blocks: Ints) -> bool:
    """Whether two states of one class are in one block."""
    reached = np.flatnonzero(classes >= 0)
    keys = blocks[reached] * (classes.max() + 1) + classes[reached]
    return len(np.unique(keys)) < len(keys)


def _joined_greedily(classes: Ints, blocks: Ints, edges: Ints) -> Ints:
    """Join blocks along steps wherever their states are of different classes: θ then changes rarely."""
    parent = list(range(int(blocks.max()) + 1))
    held: dict[int, set[int]] = {}
    for s in np.flatnonzero(classes >= 0).tolist():
        held.setdefault(int(blocks[s]), set()).add(int(classes[s]))

    def root(block: int) -> int:
        while parent[block] != block:
            parent[block] = parent[parent[block]]
            block = parent[block]
        return block

    for one, other in np.unique(blocks[edges], axis=0).tolist():
        one, other = root(one), root(other)
        if one != other and held[one].isdisjoint(held[other]):
            if len(held[one]) < len(held[other]):
                one, other = other, one
            parent[other] = one
            held[one] |= held.pop(other)
    return np.array([root(int(block)) for block in blocks], np.int64)


def _coloured(classes: Ints, blocks: Ints, start: int) -> Ints:
    """Few numbers such that blocks with states of the same class have different ones.

    The states of the initial class come first, in their order.
    """
    members: dict[int, list[int]] = {}
    for s in np.flatnonzero(classes >= 0).tolist():
        members.setdefault(int(blocks[s]), []).append(s)
    numbers = np.full(len(classes), _UNREACHED, np.int64)
    used: list[set[int]] = [set() for _ in range(int(classes.max()) + 1)]

    def order(states: list[int]) -> tuple[int, int, int]:
        return min((s for s in states if classes[s] == start), default=len(classes)), -len(states), states[0]

    for states in sorted(members.values(), key=order):
        taken = set().union(*(used[int(classes[s])] for s in states))
        number = next(i for i in range(len(taken) + 1) if i not in taken)
        for s in states:
            numbers[s] = number
            used[int(classes[s])].add(number)
    return numbers


def _assemble(flat: Flat, classes: Ints, place: Ints, numbers: Ints | None) -> Found:
    """The model in which θ has become place[x, θ]; numbers: θ by state, None if θ is constant."""
    count, values = place.shape
    if values > JOINT_LIMIT:
        raise TooLargeError(f"{flat.name}: {values:,} hidden values; the limit is {JOINT_LIMIT:,}.")
    members = [np.flatnonzero(classes == x) for x in range(count)]
    start = int(classes[flat.start > 0][0])
    prior = np.where(place[start] >= 0, flat.start[place[start]], 0.0)
    found = Found(
        name=flat.name,
        states=[named_set(flat.states, states) for states in members],
        actions=flat.actions,
        observations=flat.observations,
        components=[Component("state", _labels(flat, place, start), tuple(range(values)), prior)],
        start=start,
        discount=flat.discount,
        summary=f"{(classes >= 0).sum():,} states in {count:,} classes that the history tells apart; at most "
        f"{max(map(len, members)):,} possible at a time",
        numbers=ListedNumbers(flat.places, place),
    )
    there, absent = np.flatnonzero(place.ravel() >= 0), np.flatnonzero(place.ravel() < 0)  # x · values + θ
    states = place.ravel()[there]
    for a in range(len(flat.actions)):
        row, at = _entries(flat.transition[a], states)
        after = flat.transition[a].indices[at]
        triples = (
            np.concatenate([there[row], absent]),
            np.concatenate([classes[after], absent // values]),
            np.concatenate([flat.transition[a].data[at], np.ones(len(absent))]),
        )
        gain, later = np.zeros(place.size), np.tile(np.arange(values), count)
        gain[there] = flat.reward[states, a]
        if numbers is not None:
            later[there[row]] = numbers[after]
        found.add_steps(a, triples, gain, later)
        row, at = _entries(flat.sight[a], states)
        found.add_sights(a, (there[row], flat.sight[a].indices[at], flat.sight[a].data[at]))
    return found


def _labels(flat: Flat, place: Ints, start: int) -> tuple[str, ...]:
    """Hidden values by the state that has them in the initial class, or in the first class that has one."""
    labels: list[str] = []
    for column in place.T:
        label = flat.states[column[start] if column[start] >= 0 else column[column >= 0][0]]
        labels.append(label if label not in labels else f"{label} ({len(labels)})")
    return tuple(labels)
