"""Rollouts in models with noise or readings: what a simple policy earns from a state on.

The hidden value is drawn from the frozen belief once, and kept or changed by φ. Only rewards count: bonuses of random
actions would cost more to compute than all the rest, and say little about those that a planner would collect.
"""

from typing import Any

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inner
from pomdplite.mdp.real.frozen import FrozenBelief
from pomdplite.mdp.sampling import draw_hidden, pick
from pomdplite.rng import noise_from, uniform

_NEGLIGIBLE = 1e-3  # a rollout ends once its discount factor is below this


@inner
def rollout(model: KernelModel, frozen: FrozenBelief, work: Any, gamma: float, depth: int) -> tuple[float, int]:
    """The return of a rollout from work.here by the model's policy or uniform actions, and its steps."""
    total, discount, steps, here, theta = 0.0, 1.0, 0, work.here, work.theta
    draw_hidden(model, here, frozen.b, theta, 0, work.stream)
    while steps < depth and discount >= _NEGLIGIBLE and not abi.faulty(model):
        a = abi.policy(model, here, 0, uniform(work.stream))
        total += discount * abi.reward(model, here, 0, theta, 0, a)
        discount *= gamma
        steps += 1
        i = _draw(model, work, a)
        if model.evolves:
            abi.evolve(model, here, 0, theta, 0, a, work.step.out.theta)
            for w in range(theta.shape[1]):
                theta[0, w] = work.step.out.theta[0, w]
        for w in range(model.x_words):
            here[0, w] = work.step.out.y[i, w]
        if abi.terminal(model, here, 0):
            break
    return total, steps


@inner
def _draw(model: KernelModel, work: Any, a: int) -> int:
    """Draw a next state of (work.here, work.theta, a) into a row of work.step.out.y; which one."""
    out, u = work.step.out, uniform(work.stream)
    if model.noise.numbers > 0:
        noise_from(u, model.noise.numbers, out.noise)
        abi.sampled_transition(model, work.here, 0, work.theta, 0, a, out.y, out.noise)
        return 0
    count = abi.transition(model, work.here, 0, work.theta, 0, a, out.y, out.p)
    if model.z_words > 0:
        abi.make_room(model, out.y, count)
    return pick(out.p, count, u)
