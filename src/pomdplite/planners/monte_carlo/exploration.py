"""The constant c of the UCB1 rule, by which tree searches explore."""

from pomdplite.mdp.budget import Deadline
from pomdplite.mdp.reward_range import reward_spread
from pomdplite.model.compiled import KernelView


def exploration_constant(view: KernelView, given: float | None, deadline: Deadline) -> float:
    """The constant that the user gave, the model's return_range, or how far its rewards lie apart."""
    if given is not None:
        return given
    if view.model.return_range is not None:
        return view.model.return_range
    return reward_spread(view, deadline=deadline)
