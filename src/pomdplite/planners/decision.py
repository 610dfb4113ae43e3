"""What a planner decides, and why: the values of all actions, split into reward and bonus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Small
from pomdplite.display import ShownInNotebooks
from pomdplite.mdp.solution import TIE, Solution

NOT_CLOSED = "the search did not close"  # how a note begins that qualifies the planner's claim to be optimal


class ActionValue(NamedTuple):
    """The value of one action, q = reward + bonus."""

    action: int
    name: str
    q: float
    reward: float  # the part of q that rewards contribute
    bonus: float  # the part of q that exploration bonuses contribute
    mean_reward: float  # expected reward of the next step alone
    mean_bonus: float  # bonus of the next step alone


@dataclass(frozen=True, kw_only=True)
class Decision(ShownInNotebooks):
    """An action and the reasons for it."""

    action: int
    solution: Solution  # the values of all legal actions, and how they were found
    action_names: Sequence[str]  # of all actions of the model
    bounds: tuple[float, float] | None = None  # on the optimal value, if the planner knows them; DESPOT estimates them
    notes: tuple[str, ...] = ()  # what the user should know: memory that ran out, a belief that had to be recovered
    seconds: float = 0.0  # planning time; the same belief and state are not planned for twice

    @property
    def name(self) -> str:
        """The action's name."""
        return str(self.action_names[self.action])

    @property
    def value(self) -> float:
        """The value of the current state and belief, as far as the planner knows it."""
        return self.solution.value

    @property
    def line(self) -> tuple[str, ...]:
        """The principal variation: the actions that the planner expects to take, if it has looked that far."""
        return tuple(str(self.action_names[a]) for a in self.solution.line)

    def table(self) -> list[ActionValue]:
        """Every legal action, best first; q is -inf if a search has not come to know the action."""
        found = self.solution
        return [
            ActionValue(
                action=int(found.actions[i]),
                name=str(self.action_names[found.actions[i]]),
                q=float(found.q[i]),
                reward=float(found.q[i] - found.bonus_part[i]),
                bonus=float(found.bonus_part[i]),
                mean_reward=float(found.mean_reward[i]),
                mean_bonus=float(found.mean_bonus[i]),
            )
            for i in np.argsort(-found.q, kind="stable")
        ]


def best_actions(actions: Small, q: Floats) -> Small:
    """The actions with the highest value, up to rounding."""
    best = float(np.max(q))
    return actions[q >= best - TIE * max(1.0, abs(best))]


def choose(actions: Small, q: Floats) -> int:
    """The best action; ties go to the smaller action number."""
    return int(np.min(best_actions(actions, q)))
