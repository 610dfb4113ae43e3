"""Theorem 1: a POMDP-lite equals a set of MDPs indexed by θ.

From POMDP-lite to MDPs (the proof's second direction): given θ = θᵢ the state of MDP i is s = (x, õ), the observed
state with the last observation or null, and

    T(θᵢ, s, a, s') = P(õ' | θᵢ, x', a) P(x' | θᵢ, x, a),      R(θᵢ, s, a) = R(θᵢ, x, a).

Where θ changes, s also carries the map from initial to present values, and the index is the initial value θ⁰.
From MDPs to POMDP-lite (the first direction): θ becomes part of the state and nothing else changes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pomdplite.compile.jit import Floats
from pomdplite.errors import ModelError, TooLargeError
from pomdplite.mdp.reachable import build
from pomdplite.model.model import Model
from pomdplite.model.tabular import Tabular, tabular

_LARGEST = 50_000_000  # numbers in the transition table


@dataclass(frozen=True)
class MdpSet:
    """MDPs that share states and actions. State 0 is END."""

    transition: Floats  # [θ, s, a, s']
    reward: Floats  # [θ, s, a]
    legal: NDArray[np.bool_]  # [s, a]
    prior: Floats  # [θ]
    discount: float
    start: int
    states: tuple[str, ...]  # names: x and the last observation
    hidden: tuple[str, ...]
    actions: tuple[str, ...]


def to_mdps(model: Model) -> MdpSet:
    """The set of MDPs of a POMDP-lite, on the states reachable from its start."""
    view = model.compiled_form.kernel_view(joint=True)
    reachable = build(view, view.root())
    graph, thetas, count = reachable.graph, int(view.table.offsets[1]), len(model.actions)
    numbers: dict[tuple[int, int], int] = {(0, -1): 0}
    root = (reachable.find(view.root()), len(model.observations))
    numbers[root] = 1
    queue = [root]
    entries: list[tuple[int, int, int, Floats]] = []  # s, a, s', likelihood [θ]
    rewards: list[tuple[int, int, Floats]] = []
    while queue:
        s = queue.pop()
        for pair in reachable.actions(s[0]):
            gain, likelihood, branch, seen = reachable.likelihood(int(graph.step[pair]))
            edges = reachable.edges(s[0], int(pair))
            a = int(graph.action[pair])
            rewards.append((numbers[s], a, gain))
            for e in range(len(likelihood)):
                x = int(edges[branch[e]])
                after = (x, int(seen[e])) if x else (0, -1)
                if after not in numbers:
                    numbers[after] = len(numbers)
                    queue.append(after)
                entries.append((numbers[s], a, numbers[after], likelihood[e]))
            if thetas * len(numbers) ** 2 * count > _LARGEST:
                raise TooLargeError(f"{model.name}: the set of MDPs has a table of more than {_LARGEST:,} numbers.")
    n = len(numbers)
    transition, reward, legal = (
        np.zeros((thetas, n, count, n)),
        np.zeros((thetas, n, count)),
        np.zeros((n, count), bool),
    )
    for s_number, a, after_number, chance in entries:
        transition[:, s_number, a, after_number] += chance
    for s_number, a, gain in rewards:
        reward[:, s_number, a] = gain
        legal[s_number, a] = True
    transition[:, ~legal[:, :], :] = 0.0
    transition[:, 0, :, 0] = 1.0
    names = ["END"] + [
        f"({view.describe(graph.states[x])}; {model.observation_name(o)})" for (x, o) in list(numbers)[1:]
    ]
    hidden = tuple(view.table.label(0, v) for v in range(thetas))
    return MdpSet(transition, reward, legal, view.table.prior[:-1].copy(), model.discount, 1, tuple(names), hidden,
                  tuple(map(str, model.actions)))  # fmt: skip


def from_mdps(mdps: MdpSet) -> Tabular:
    """The POMDP-lite of a set of MDPs: θ is hidden, the states are observed, and there is nothing else to observe."""
    shape = mdps.transition.shape
    if len(shape) != 4 or shape[1] != shape[3] or mdps.reward.shape != shape[:3] or mdps.legal.shape != shape[1:3]:
        raise ModelError(
            f"the MDPs do not share states and actions: tables {shape}, {mdps.reward.shape}, {mdps.legal.shape}."
        )
    t = np.moveaxis(mdps.transition, 0, 1).copy()
    illegal = ~mdps.legal
    for x, a in np.argwhere(illegal):
        t[x, :, a, :] = 0.0
        t[x, :, a, x] = 1.0
    return tabular(
        t, np.moveaxis(mdps.reward, 0, 1), discount=mdps.discount, prior=mdps.prior.tolist(), start=mdps.start,
        terminal=(0,), legal=mdps.legal, states=mdps.states, hidden=mdps.hidden, actions=mdps.actions,
    )  # fmt: skip
