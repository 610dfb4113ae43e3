"""Progressive widening over actions (Couëtoux et al. 2011): a search of many actions considers few of them at first.

A node that was visited n times considers ⌈k (n + 1)^α⌉ of its actions, so it considers all of them in the end. Which
ones come first matters (PA-POMCPOW, Mern et al. 2021). Half of them are those with the best value of one step,

    R(b, s, a) + RB(b, s, a) + γ Σ_s' P(s' | b, s, a) Ṽ(s'),

where the value of a new s' is the model's heuristic or the node's own. The other half are the first ones of the model's
list, because one step may say nothing, or mislead; ranges are listed from coarse to fine (model/actions.py).

The root computes the value of one step for all of its actions, once per decision. Elsewhere that would be most of the
work: a node lists ⌈k⌉ actions when it is expanded, and twice as many whenever all of them are considered, in one order
for all nodes, by turns the best in the root and the first in the model's list. Measured in docs/decisions/0017.
"""

import math
from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, inlined

MANY = 32  # widen if there are more actions than this
K, ALPHA = 8.0, 0.5


class ActionWidening(NamedTuple):
    """What decides which actions a node considers."""

    k: float
    alpha: float
    merged: bool  # whether equal states share a node
    order: Small  # [action] the order in which nodes list actions
    mark: Ints  # [1 + action] a counter, then its value at the time when each action was last found to be listed


@inlined
def allowed(widening: ActionWidening, visits: int) -> int:
    """The number of actions that a node considers after this many visits."""
    return int(np.ceil(widening.k * (visits + 1.0) ** widening.alpha))


@inlined
def next_considered(action: Small, q: Floats, first: int, last: int, by_number: bool) -> int:
    """Of the pairs from `first` to before `last`, the first in the model's list, or the best by Q̃."""
    chosen = first
    for pair in range(first + 1, last):
        if action[pair] < action[chosen] if by_number else q[pair] > q[chosen]:
            chosen = pair
    return chosen


def listed_at_first(actions: int) -> int:
    """How many of so many actions a node lists when it is expanded."""
    return actions if actions <= MANY else math.ceil(K)


def allocate_widening(model: KernelModel, *, merged: bool) -> ActionWidening:
    """Widening with the actions in the order of the model's list."""
    return ActionWidening(
        K, ALPHA, merged, np.arange(model.actions, dtype=np.int32), np.zeros(1 + model.actions, np.int64)
    )


def set_order(widening: ActionWidening, actions: Small, q: Floats) -> None:
    """List actions from now on by turns by these values, of all legal actions of the root, and as the model does."""
    ranked = actions[np.argsort(-q, kind="stable")]
    listed = np.arange(len(widening.order))
    illegal = np.setdiff1d(listed, ranked)
    both = np.stack([np.concatenate([ranked, illegal]), listed], axis=1).ravel()
    _, place = np.unique(both, return_index=True)
    widening.order[:] = both[np.sort(place)]
