"""What a solver of the internal-reward MDP is asked and gives back, exact or online."""

from dataclasses import dataclass
from typing import Protocol

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Small, Words


@dataclass(frozen=True)
class Solution:
    """The internal-reward MDP at one state. Arrays are per legal action, in the order of the action numbers."""

    solver: str
    actions: Small  # action numbers
    q: Floats  # Q̃ = reward part + bonus part
    bonus_part: Floats  # what future bonuses contribute to q under the greedy policy; the rest is reward
    mean_reward: Floats  # R(b, s, a) of this step
    mean_bonus: Floats  # β E‖b' − b‖₁ of this step
    states: int  # states that the solution covers, or that the search met
    solved: int = 0  # states that had to be solved again for this belief
    residual: float = 0.0  # largest Bellman residual of those
    visits: Small | None = None  # how often a search tried each action
    simulations: int = 0
    steps: int = 0  # simulated model steps
    deepest: int = 0  # steps of the longest simulation
    line: tuple[int, ...] = ()  # actions of the principal line of play
    full: bool = False  # whether the search ran out of space for states

    @property
    def value(self) -> float:
        """Ṽ(b, s)."""
        return float(self.q.max())


class Solver(Protocol):
    """Solves the internal-reward MDP of one model for one belief after the other."""

    def reset(self, prior: Floats, seed: int) -> None:
        """A new episode: nothing of the last one may matter."""

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """The MDP at s with the belief b over the rows of `model.theta` frozen."""
