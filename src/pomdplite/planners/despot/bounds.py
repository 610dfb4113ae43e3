"""What DESPOT knows of every x and θ before it searches: the worth of knowing θ, and what default policies earn."""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined
from pomdplite.errors import TooLargeError
from pomdplite.mdp.full_information import MEMORY, full_information_values, policy_values, repeated_action
from pomdplite.mdp.momdp import Momdp, momdp_form
from pomdplite.mdp.reachable import reward_range
from pomdplite.model.model import Model

_BOUND_STATES = 300_000  # x that the tables are computed for
_TRIED = (0.03, 0.21, 0.5, 0.79, 0.97)  # random numbers that show whether a policy is random


class Bounds(NamedTuple):
    """What is known of every x and θ; empty where that is too much."""

    states: Words  # of the graph over x
    table: Small
    values: Floats  # [state, joint θ] of an agent who knows θ
    defaults: Floats  # [policy, state, joint θ] of the default policies; none where they must be played
    mask: Words  # [component, word] bits that hold the component
    value: Words  # [row, word] the θ record of a row
    offsets: Ints  # rows of each component
    stride: Ints  # [component]
    highest: float  # the largest reward, where nothing else is known


def find_bounds(model: Model) -> Bounds:
    """The values for every x and θ, if they fit."""
    none = np.zeros((0, model.state.words), np.uint64)
    words, unplayed = model.hidden.words, np.zeros((0, 0, 0))
    try:
        momdp = momdp_form(model, limit=_BOUND_STATES)
        values = full_information_values(momdp, model.discount)
    except TooLargeError:
        _, highest = reward_range(model.compiled_form.kernel_view())
        nothing = np.zeros((0, words), np.uint64)
        return Bounds(none, np.zeros(1, np.int32), np.zeros((0, 0)), unplayed, nothing, nothing, np.zeros(1, np.int64),
                      np.zeros(0, np.int64), highest)  # fmt: skip
    table, graph = momdp.view.table, momdp.reachable.graph
    mask = np.zeros((table.blocks, words), np.uint64)
    for c in range(table.blocks):
        for row in range(table.offsets[c], table.offsets[c + 1]):
            mask[c] |= table.theta[row] ^ table.theta[-1]
    defaults = unplayed
    policies = default_policies(momdp)
    if model.discount < 1 and len(policies) * values.nbytes <= MEMORY:
        defaults = np.array([policy_values(momdp, pairs, model.discount) for pairs in policies]).reshape(
            -1, *values.shape
        )
    return Bounds(
        graph.states, graph.table, values, defaults, mask, table.theta, table.offsets, momdp.joint.stride, 0.0
    )


def default_policies(momdp: Momdp) -> list[Ints]:
    """The pair that each default policy takes in each state; none if the model's policy is random.

    Without a policy of the model's there is one for each action: repeat it where it is legal.
    """
    r, model = momdp.reachable, momdp.view.kernel_model
    if model.functions[abi.POLICY] != 0:
        policy = np.zeros(r.states, np.int64)
        for state in range(1, r.states):
            pairs = r.actions(state)
            chosen = {int(abi.policy(model, r.graph.states, state, u)) for u in _TRIED}
            if len(chosen) > 1:
                return []
            policy[state] = pairs[list(r.graph.action[pairs]).index(chosen.pop())]
        return [policy]
    return [repeated_action(momdp, a) for a in range(model.actions)]


@inlined
def joint_number(bounds: Bounds, thetas: Words, t: int) -> int:
    """The number of a θ among all joint values; 0 where they are not listed."""
    joint = 0
    for c in range(bounds.mask.shape[0]):
        for row in range(bounds.offsets[c], bounds.offsets[c + 1]):
            same = True
            for w in range(bounds.mask.shape[1]):
                if (thetas[t, w] ^ bounds.value[row, w]) & bounds.mask[c, w]:
                    same = False
                    break
            if same:
                joint += (row - bounds.offsets[c]) * bounds.stride[c]
                break
    return joint
