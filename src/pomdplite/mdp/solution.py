"""What solvers return: the values of the actions in one state."""

from dataclasses import dataclass
from typing import Protocol

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Small, Words

TIE = 1e-6  # relative difference below which two values count as equal
LONGEST_LINE = 12  # actions of the principal variation


@dataclass(frozen=True, kw_only=True)
class Solution:
    """The values of the legal actions in one state. Arrays are per legal action, ordered by action number."""

    solver: str  # name of the method, for people
    actions: Small  # action numbers
    q: Floats  # value of each action: reward part + bonus part; -inf if a search knows nothing of it
    bonus_part: Floats  # what future bonuses contribute to q under the greedy policy; the rest is reward
    mean_reward: Floats  # R(b, s, a) of the next step alone
    mean_bonus: Floats  # β E‖b' − b‖₁ of the next step alone
    states: int  # states that the solution covers, or that the search has visited
    solved: int = 0  # states that had to be solved again for this belief
    residual: float = 0.0  # largest Bellman residual, or the gap between bounds
    visits: Small | None = None  # how often a search has tried each action
    simulations: int = 0
    steps: int = 0  # simulated model steps
    deepest: int = 0  # steps of the longest simulation
    line: tuple[int, ...] = ()  # actions of the principal variation
    full: bool = False  # whether the search ran out of memory for new states
    notes: tuple[str, ...] = ()  # what the user should know about this solution
    state_value: float | None = None  # value of the state, if known from something other than q

    @property
    def value(self) -> float:
        """The value of the state: that of its best action, unless the solver has said otherwise."""
        return float(self.q.max()) if self.state_value is None else self.state_value


class MdpSolver(Protocol):
    """Solves the internal-reward MDP of one model for a sequence of beliefs."""

    def use_beta(self, beta: float) -> None:
        """Solve for this β from now on."""

    def reset(self, prior: Floats, seed: int) -> None:
        """Start a new episode, which must not depend on earlier ones."""

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Solve the MDP at s, with the belief b over the rows of `kernel_model.theta` frozen."""
