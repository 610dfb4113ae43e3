"""Theorem 1: a POMDP-lite equals a set of MDPs indexed by θ.

From POMDP-lite to MDPs (the proof's second direction): given θ = θᵢ the state of MDP i is s = (x, õ), the observed
state with the last observation (null at the start), and

    T(θᵢ, s, a, s') = P(õ' | θᵢ, x', a) P(x' | θᵢ, x, a),      R(θᵢ, s, a) = R(θᵢ, x, a).

If θ changes, s also carries the map from initial to present values, and the index is the initial value θ⁰. There is
no map for values that the prior rules out; in their MDPs, which nobody is ever in, θ stays as it is.
From MDPs to POMDP-lite (the proof's first direction): θ becomes the hidden part of the state; nothing else changes.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pomdplite.compile.jit import Floats
from pomdplite.errors import ModelError, TooLargeError
from pomdplite.mdp.reachable import Reachable, build
from pomdplite.model.model import Model
from pomdplite.model.tabular import Tabular, tabular

_MAX_ENTRIES = 50_000_000  # of the transition table


@dataclass(frozen=True)
class MdpSet:
    """MDPs with the same states and actions. State 0 is END."""

    transition: Floats  # [θ, s, a, s']
    reward: Floats  # [θ, s, a]
    legal: NDArray[np.bool_]  # [s, a]
    prior: Floats  # [θ]
    discount: float
    start: int
    states: tuple[str, ...]  # descriptions: x and the last observation
    hidden: tuple[str, ...]
    actions: tuple[str, ...]


class _Entry(NamedTuple):
    """One transition of the set of MDPs, under every θ."""

    s: int
    a: int
    next: int
    likelihood: Floats  # [θ]


@dataclass
class _Listing:
    """The states (x, õ) of the set of MDPs, numbered in the order of discovery, and their transitions and rewards."""

    numbers: dict[tuple[int, int], int]  # (number of x in the graph, last observation)
    transitions: list[_Entry]
    rewards: list[tuple[int, int, Floats]]  # s, a, [θ]


def to_mdps(model: Model) -> MdpSet:
    """The set of MDPs of a POMDP-lite, on the states reachable from its initial state."""
    view = model.compiled_form.kernel_view(joint=True)
    reachable = build(view, view.root())
    listing = _list_states(model, reachable)
    thetas, n, actions = int(view.table.offsets[1]), len(listing.numbers), len(model.actions)
    transition, reward = np.zeros((thetas, n, actions, n)), np.zeros((thetas, n, actions))
    legal = np.zeros((n, actions), bool)
    for entry in listing.transitions:
        transition[:, entry.s, entry.a, entry.next] += entry.likelihood
    for s, a, gain in listing.rewards:
        reward[:, s, a] = gain
        legal[s, a] = True
    transition[:, ~legal, :] = 0.0
    transition[:, 0, :, 0] = 1.0
    states = reachable.graph.states
    return MdpSet(
        transition=transition,
        reward=reward,
        legal=legal,
        prior=view.table.prior[:-1].copy(),
        discount=model.discount,
        start=1,
        states=(
            "END",
            *(f"({view.describe(states[x])}; {model.observation_name(o)})" for x, o in list(listing.numbers)[1:]),
        ),
        hidden=tuple(view.table.label(0, v) for v in range(thetas)),
        actions=tuple(map(str, model.actions)),
    )


def _list_states(model: Model, reachable: Reachable) -> _Listing:
    """Every (x, õ) that can be reached, starting from the initial state and the null observation."""
    graph, view = reachable.graph, reachable.view
    per_state = int(view.table.offsets[1]) * len(model.actions)
    end, root = (0, -1), (reachable.find(view.root()), len(model.observations))
    listing = _Listing(numbers={end: 0, root: 1}, transitions=[], rewards=[])
    numbers, queue = listing.numbers, [root]
    while queue:
        s = queue.pop()
        for pair in reachable.actions(s[0]):
            reward, likelihood, branch, seen = reachable.likelihood(int(graph.step[pair]))
            next_states = reachable.edges(s[0], int(pair))
            a = int(graph.action[pair])
            listing.rewards.append((numbers[s], a, reward))
            for e in range(len(likelihood)):
                x = int(next_states[branch[e]])
                after = (x, int(seen[e])) if x else end
                if after not in numbers:
                    numbers[after] = len(numbers)
                    queue.append(after)
                listing.transitions.append(_Entry(s=numbers[s], a=a, next=numbers[after], likelihood=likelihood[e]))
            if per_state * len(numbers) ** 2 > _MAX_ENTRIES:
                raise TooLargeError(
                    f"{model.name}: the transition table of the MDPs would have more than {_MAX_ENTRIES:,} entries."
                )
    return listing


def from_mdps(mdps: MdpSet) -> Tabular:
    """The POMDP-lite of a set of MDPs: θ is hidden, the states are fully observed, and there are no observations."""
    shape = mdps.transition.shape
    if len(shape) != 4 or shape[1] != shape[3] or mdps.reward.shape != shape[:3] or mdps.legal.shape != shape[1:3]:
        raise ModelError(
            f"the MDPs do not share states and actions: tables {shape}, {mdps.reward.shape}, {mdps.legal.shape}."
        )
    transition = np.moveaxis(mdps.transition, 0, 1).copy()
    for x, a in np.argwhere(~mdps.legal):
        transition[x, :, a, :] = 0.0
        transition[x, :, a, x] = 1.0
    return tabular(
        transition, np.moveaxis(mdps.reward, 0, 1), discount=mdps.discount, prior=mdps.prior.tolist(),
        start=mdps.start, terminal=(0,), legal=mdps.legal, states=mdps.states, hidden=mdps.hidden,
        actions=mdps.actions,
    )  # fmt: skip
