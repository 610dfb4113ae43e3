"""Theorem 2, counted: the steps of simulated histories at which acting on the planner is not 4ε-close to V*.

    step t counts if V^{A_t}(b_t, s_t) < V*(b_t, s_t) − 4ε

with b_t the posterior given all that has happened. The theorem says that there are at most m such steps.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pomdplite import rng
from pomdplite.analysis.complexity import step_complexity
from pomdplite.analysis.frozen import exact_graph, frozen_mdp
from pomdplite.analysis.known import EscapeProbability, escape_of, known_set_of
from pomdplite.analysis.mistakes import checked_epsilon, horizon, mistake_bound
from pomdplite.analysis.optimistic import optimal_bounds, optimal_planner
from pomdplite.analysis.policy_values import PolicyNode, PolicyValues
from pomdplite.beliefs import initial_belief
from pomdplite.errors import UsageError
from pomdplite.mdp.reward_range import reward_scale
from pomdplite.planners.base import Planner
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.worlds.model import ModelWorld

_RECORDED = 200  # steps of an episode that is not compared with V*
_VISITS = 2000  # most that are searched for ζ(s, a)
CLOSE = 4  # times ε: what the theorem calls close


class HistoryStep(NamedTuple):
    """One step of a simulated history; values in the model's units."""

    episode: int
    t: int
    action: str
    known: float  # |K| as a share of all pairs
    escape: EscapeProbability
    internal: float  # Ṽ(b, s)
    # None if V* cannot be computed:
    optimal: tuple[float, float] | None = None  # bounds on V*(b, s)
    achieved: tuple[float, float] | None = None  # bounds on V^A(b, s)
    suboptimal: bool | None = None  # None if the bounds do not tell, either


@dataclass(frozen=True)
class SuboptimalSteps:
    """Simulated histories and how many of their steps are not 4ε-close to optimal."""

    epsilon: float
    delta: float
    horizon: int  # T
    visits: float  # Σ ζ(s, a), expected over outcomes
    bound: float  # m
    unit: float
    episodes: int
    steps: tuple[HistoryStep, ...]

    @property
    def counts(self) -> list[int]:
        """Suboptimal steps of each episode; those that the bounds leave open count as well."""
        found = [0] * self.episodes
        for step in self.steps:
            found[step.episode] += step.suboptimal is not False
        return found


def suboptimal_steps(
    planner: PomdpLite, epsilon: float, *, episodes: int = 10, seed: int = 0, delta: float = 0.05
) -> SuboptimalSteps:
    """Play episodes in the model and count the steps that are not 4ε-close to V*, against the bound m."""
    return histories(planner, optimal_planner(planner), epsilon, episodes=episodes, seed=seed, delta=delta)


def histories(
    planner: PomdpLite, best: Planner | None, epsilon: float, *, episodes: int, seed: int, delta: float
) -> SuboptimalSteps:
    """Play episodes, compared with V* if there is a planner that knows it.

    If not, episodes may be long, and about 200 of their steps are recorded.
    """
    epsilon = checked_epsilon(epsilon)
    if episodes < 1:
        raise UsageError(f"episodes must be at least 1, not {episodes!r}.")
    length, unit = horizon(epsilon, planner.discount), reward_scale(exact_graph(planner)).unit
    visits = total_complexity(planner, epsilon)
    steps, nodes = _play(planner, best, epsilon, length, episodes, seed)
    if best is not None:
        values = PolicyValues(planner, nodes)
        steps = [_compared(s, values.bounds(n), CLOSE * epsilon * unit) for s, n in zip(steps, nodes, strict=True)]
    bound = mistake_bound(visits, epsilon, planner.discount, delta)
    return SuboptimalSteps(epsilon, delta, length, visits, bound, unit, episodes, tuple(steps))


def _compared(step: HistoryStep, achieved: tuple[float, float], allowed: float) -> HistoryStep:
    """The step with V^A, and whether it loses more than is allowed."""
    assert step.optimal is not None
    least, most = step.optimal[0] - achieved[1], step.optimal[1] - achieved[0]
    verdict = True if least > allowed else False if most <= allowed else None
    return step._replace(achieved=achieved, suboptimal=verdict)


def total_complexity(planner: PomdpLite, epsilon: float) -> float:
    """Σ_{s,a} ζ(s, a) for the planner's β, each expected over outcomes; infinite if it is not found in 2,000 visits."""
    reachable = exact_graph(planner)
    assert planner.beta is not None
    if planner.beta == 0:
        return 0.0
    threshold = epsilon * (1 - planner.discount) * reward_scale(reachable).unit / planner.beta
    numbers, pairs = np.unique(reachable.graph.step, return_counts=True)
    total = 0.0
    for number, count in zip(numbers, pairs, strict=True):
        block, likelihood = int(reachable.distinct.component[number]), reachable.likelihood(int(number))[1]
        found = step_complexity(reachable.view, block, likelihood, threshold, _VISITS, to_the_end=False)
        total += float(count) * found.expected
    return total


def _play(
    planner: PomdpLite, best: Planner | None, epsilon: float, length: int, episodes: int, seed: int
) -> tuple[list[HistoryStep], list[PolicyNode]]:
    """The histories, with nothing said of V^A yet, and where the planner was at each step."""
    model, reachable, world = planner.model, exact_graph(planner), ModelWorld(planner.model)
    posterior, records, nodes = initial_belief(reachable.view), [], []
    every = 1 if best is not None else max(1, model.episode_horizon // _RECORDED)
    known: dict[tuple[int, bytes, bytes], HistoryStep] = {}
    for episode in range(episodes):
        world.reset(seed, episode)
        planner.reset(seed=int(rng.stream(seed, episode, rng.PLANNER)[0]))
        if best is not None:
            best.reset()
        posterior.reset()
        over, t = False, 0
        while not over and t < model.episode_horizon:
            decision = planner.decide()
            f = planner.belief.probabilities.copy()
            p = f if planner.known is None else posterior.probabilities.copy()
            node = PolicyNode(reachable.find(planner.s), f, p)
            at = node.state, f.tobytes(), planner.belief.kernel_model.bonus_scale.tobytes()
            if t % every == 0 and at not in known:
                mdp = frozen_mdp(planner)
                inside = known_set_of(mdp, epsilon)
                known[at] = HistoryStep(
                    0, 0, decision.name, inside.share, escape_of(inside, length), float(mdp.values[mdp.state])
                )
            if t % every == 0:
                bounds = None if best is None else optimal_bounds(best)
                records.append(known[at]._replace(episode=episode, t=t, optimal=bounds))
                nodes.append(node)
            x = planner.state
            y, o, _, over, _ = world.step(decision.action)
            planner.update(decision.action, y, o)
            if best is not None:
                best.update(decision.action, y, o)
            posterior.update(x, decision.action, y, o)
            t += 1
    return records, nodes
