"""Values of every x and θ, computed once for each model: DESPOT's initial bounds are looked up here.

The upper bound is what an agent that knows θ can expect; the lower bounds are the values of the default policies.
Where listing every x and θ takes too much memory, the tables are empty.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import Deadline, OutOfTimeError
from pomdplite.mdp.full_information import MEMORY, full_information_values, policy_values, repeated_action
from pomdplite.mdp.momdp import Momdp, momdp_form
from pomdplite.mdp.reward_range import reward_range
from pomdplite.mdp.undiscounted import has_cut_episodes, horizon_values
from pomdplite.mdp.value_table import ValueTable, empty_value_table, value_table
from pomdplite.model.model import Model

_STATE_LIMIT = 300_000  # values of x that are listed
_TRIED = (0.03, 0.21, 0.5, 0.79, 0.97)  # random numbers that show whether a policy is random


class BoundTables(NamedTuple):
    """Values of every x and θ."""

    known: ValueTable  # V_θ(x) of an agent that knows θ; empty if the tables are
    default: Floats  # [policy, state, joint θ] of the default policies; empty if they have to be simulated
    largest_reward: float  # for models with empty tables and no upper bound of their own


def bound_tables(model: Model, deadline: Deadline) -> BoundTables:
    """The tables of a model, empty if they do not fit."""
    try:
        momdp = momdp_form(model, limit=_STATE_LIMIT, deadline=deadline)
        values = _known_values(momdp, deadline)
    except OutOfTimeError:
        raise
    except TooLargeError:
        return _empty_tables(model, deadline)
    default = np.zeros((0, 0, 0))
    policies = default_policies(momdp)
    room = min(MEMORY, memory.limit() - memory.size(momdp, values))
    if policies and model.discount < 1 and len(policies) * values.nbytes <= room:
        default = np.empty((len(policies), *values.shape))
        for policy, pairs in enumerate(policies):
            default[policy] = policy_values(momdp, pairs, model.discount, deadline=deadline)
    return BoundTables(known=value_table(momdp, values), default=default, largest_reward=0.0)


def _known_values(momdp: Momdp, deadline: Deadline) -> Floats:
    """V_θ(x). Where it is not finite without discount, the most that up to H steps earn: no fewer of them earn more."""
    model = momdp.view.model
    try:
        return full_information_values(momdp, model.discount, deadline=deadline)
    except NotConvergingError:
        if not has_cut_episodes(model):
            raise
        return horizon_values(momdp, model.episode_horizon, deadline=deadline)[1]


def _empty_tables(model: Model, deadline: Deadline) -> BoundTables:
    _, largest = reward_range(model.compiled_form.kernel_view(), deadline=deadline)
    return BoundTables(known=empty_value_table(model), default=np.zeros((0, 0, 0)), largest_reward=largest)


def default_policies(momdp: Momdp) -> list[Ints]:
    """The pair that each default policy takes in each state; none if the model's policy is random.

    A model without a policy of its own has one default policy for each action: repeat it wherever it is legal.
    """
    reachable, model = momdp.reachable, momdp.view.kernel_model
    if model.functions[abi.POLICY] == 0:
        return [repeated_action(momdp, a) for a in range(model.actions)]
    policy = np.zeros(reachable.states, np.int64)
    for state in range(1, reachable.states):
        pairs = reachable.actions(state)
        chosen = {int(abi.policy(model, reachable.graph.states, state, u)) for u in _TRIED}
        if len(chosen) > 1:
            return []
        momdp.view.raise_fault()
        policy[state] = pairs[list(reachable.graph.action[pairs]).index(chosen.pop())]
    return [policy]
