"""The smallest and the largest reward, by which constants of searches and bounds are scaled."""

from functools import partial
from typing import NamedTuple

import numpy as np

from pomdplite.mdp import memory
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.distinct_steps import STEPS
from pomdplite.mdp.reachable import Reachable, explore
from pomdplite.mdp.real.sampled_rewards import sampled_reward_range
from pomdplite.model.compiled import KernelView

_STATES = 2000
_MOST_NUMBERS = 32_000_000
_MOST_REWARDS = 50_000_000  # R(x, θ, a) that are computed, some tenths of a second
_SHARE = 0.125  # of the memory, for numbers


def reward_range(view: KernelView, *, deadline: Deadline = NO_DEADLINE) -> tuple[float, float]:
    """The smallest and the largest reward among the first reachable states; or random ones, if outcomes or the values
    of θ on the way cannot be listed. Where θ has so many values that only few states can be listed, among both.
    """
    if view.real or view.has_changing_numbers:
        return sampled_reward_range(view)
    most = int(np.max(np.diff(view.kernel_model.offsets))) if view.listed else 1
    states = _MOST_REWARDS // (view.kernel_model.actions * most)
    found = _listed_reward_range(view, max(1, min(_STATES, states)), deadline)
    if states >= _STATES:
        return found
    others = sampled_reward_range(view)
    return min(found[0], others[0]), max(found[1], others[1])


def _listed_reward_range(view: KernelView, states: int, deadline: Deadline) -> tuple[float, float]:
    """The smallest and the largest reward among the first so many reachable states."""
    what, instead = f"{view.model.name}: finding the range of its rewards", "set the model's beta and return_range"
    check = partial(deadline.check, what, instead=instead)
    numbers = min(_MOST_NUMBERS, _SHARE * memory.limit() / 8)
    _, distinct = explore(view.unobserved(), view.root(), states, numbers, deadline, check)
    offsets, low, high = view.kernel_model.offsets, np.inf, -np.inf
    for r in range(int(distinct.counts[STEPS])):
        component = distinct.component[r]
        rewards = distinct.pool[distinct.at[r] : distinct.at[r] + offsets[component + 1] - offsets[component]]
        low, high = min(low, float(rewards.min())), max(high, float(rewards.max()))
    return low, high


def reward_spread(view: KernelView, *, deadline: Deadline = NO_DEADLINE) -> float:
    """How far rewards lie apart; if they are all equal, as costs of steps are, how far from the 0 after the end."""
    low, high = reward_range(view, deadline=deadline)
    return high - low if high > low else abs(high)


class RewardScale(NamedTuple):
    """The affine map that takes the rewards of a model to [0, 1], as the paper's analysis assumes them.

    After the end of an episode the reward is 0. If episodes end, 0 is therefore one of the rewards.
    """

    low: float
    high: float

    @property
    def unit(self) -> float:
        """The range of rewards: a difference of 1 between scaled values, in the model's own units."""
        return self.high - self.low


def reward_scale(reachable: Reachable) -> RewardScale:
    """The scale of all rewards in a graph; rewards that never differ keep their unit."""
    distinct, rewards = reachable.distinct, [0.0] if 0 in reachable.graph.next else []
    for r in range(reachable.distinct_count):
        block = int(distinct.component[r])
        first, last = reachable.view.table.offsets[block : block + 2]
        found = distinct.pool[distinct.at[r] : distinct.at[r] + last - first]
        rewards += [float(found.min()), float(found.max())]
    low, high = min(rewards), max(rewards)
    return RewardScale(low, high if high > low else low + 1.0)
