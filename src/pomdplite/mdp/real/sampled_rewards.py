"""The range of the rewards of a model whose states cannot be listed: among those of random episodes."""

import numpy as np

from pomdplite import rng
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.sampling import draw_hidden, simulate
from pomdplite.model.compiled import KernelView
from pomdplite.rng import uniform

_EPISODES, _STEPS = 500, 5_000  # at most
_SEED = 0


def sampled_reward_range(view: KernelView) -> tuple[float, float]:
    """The smallest and the largest reward of any action in the states of random episodes."""
    model, found = view.kernel_model, np.array([np.inf, -np.inf])
    out, root, left = allocate_outcomes(model, 1), view.root().reshape(1, -1), _STEPS
    theta, steps = np.zeros((1, model.theta.shape[1]), np.uint64), view.model.episode_horizon
    stream = rng.stream(_SEED, rng.RACE)
    for _ in range(_EPISODES):
        left -= _play(model, root.copy(), theta, view.table.prior, found, stream, out, min(left, steps))
        view.raise_fault()
        if left <= 0:
            break
    return float(found[0]), float(found[1])


@kernel
def _play(
    model: KernelModel, s: Words, theta: Words, prior: Floats, found: Floats, stream: Words, out: Outcomes, steps: int
) -> int:
    """One episode from s[0] by the model's policy or uniform actions, of at most so many steps; how many it took."""
    draw_hidden(model, s, prior, theta, 0, stream)
    for t in range(steps):
        for a in range(model.actions):
            if abi.legal(model, s, 0, a):
                reward = abi.reward(model, s, 0, theta, 0, a)
                found[0], found[1] = min(found[0], reward), max(found[1], reward)
        a = abi.policy(model, s, 0, uniform(stream))
        i, _, _ = simulate(model, s, theta, a, uniform(stream), uniform(stream), out)
        for w in range(model.x_words):
            s[0, w] = out.y[i, w]
        for w in range(theta.shape[1]):
            theta[0, w] = out.theta[0, w]
        if abi.terminal(model, s, 0) or abi.faulty(model):
            return t + 1
    return max(1, steps)
