"""The model as a world that pays for decisions instead of luck, so that planners can be told apart on few episodes.

With the values of an agent that knows θ, V(b, x) = Σ_θ b(θ) V_θ(x) and Q(b, x, a) = Σ_θ b(θ) Q_θ(x, a), an episode of
H steps counts as

    V(b₀, x₀) + Σ_t γ^t [Q(b_t, x_t, a_t) − V(b_t, x_t)] − γ^H V(b_H, x_H)

where the last term is 0 if x_H is terminal. Its mean is the planner's expected return: b is the exact belief, so
Q(b_t, x_t, a_t) is the mean of r_t + γ V(b_{t+1}, x_{t+1}) given all that was seen before, and the sum telescopes. The
draw of θ, and what follows by chance from an action, is averaged; what the action gives away is counted.
"""

import copy

from pomdplite.beliefs import exact_belief
from pomdplite.planners.qmdp import Qmdp
from pomdplite.worlds import ModelWorld
from pomdplite.worlds.base import StepResult


class ScoredWorld(ModelWorld):
    """Samples from the model; a step's reward is what the action is worth, less what was expected before it."""

    def __init__(self, prepared: Qmdp) -> None:
        super().__init__(prepared.model)
        self._scorer = copy.copy(prepared)  # a twin, which shares its values, with a belief of its own
        self._scorer.belief = exact_belief(prepared.view)

    def reset(self, seed: int, episode: int = 0) -> None:
        """Draw the hidden value and return to the initial state and the prior."""
        super().reset(seed, episode)
        self._scorer.reset()
        self._steps, self._expected = 0, 0.0  # the first step is paid V(b₀, x₀), too

    def step(self, a: int) -> StepResult:
        """Sample the next state and the observation or reading; the reward as above."""
        scorer, result = self._scorer, super().step(a)
        found = scorer.decide().solution
        reward = float(found.q[list(found.actions).index(a)]) - self._expected
        self._steps += 1
        if not result.terminated:
            scorer.update(a, result.y, result.o)
            self._expected = self._known()
            if self._steps == self.model.episode_horizon:
                reward -= self.model.discount * self._expected
        return result._replace(reward=reward)

    def _known(self) -> float:
        """V(b, x)."""
        bounds = self._scorer.decide().bounds
        assert bounds is not None
        return bounds[1]
