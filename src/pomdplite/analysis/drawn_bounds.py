"""Bounds on V*(b, s) where probabilities are unknown, so that their values cannot be listed: from θ drawn from b.

    E_θ V_θ^π(s)  ≤  V*(b, s)  ≤  E_θ V_θ*(s)

π, the optimal policy of the mean MDP, learns nothing; the agent on the right knows θ. The expectations are means over
draws, three standard errors lower and higher.
"""

import numpy as np
from scipy.sparse import eye_array
from scipy.sparse.linalg import spsolve

from pomdplite import rng
from pomdplite.analysis.frozen import FrozenMdp, frozen_mdp
from pomdplite.compile.jit import Floats
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.planners.pomdp_lite import PomdpLite

DRAWS = 400
_ERRORS = 3.0  # standard errors


def drawn_bounds(planner: PomdpLite, draws: int = DRAWS, seed: int = 0) -> tuple[float, float]:
    """Bounds on V* at the planner's present belief and state."""
    mdp, stream = frozen_mdp(planner, 0.0), rng.stream(seed, rng.PLANNER)
    solver = CountsSolver(planner.view, planner.discount, 0.0)
    low, high = np.empty(draws), np.empty(draws)
    for i in range(draws):
        theta = np.append(planner.belief.sample(stream), 1.0)
        low[i] = _policy_value(mdp, theta)
        solver.solve(planner.belief.kernel_model, planner.s, theta)
        high[i] = solver.values[solver.reachable.find(planner.s)]
    error = _ERRORS / np.sqrt(draws)
    return float(low.mean() - error * low.std()), float(high.mean() + error * high.std())


def _policy_value(mdp: FrozenMdp, theta: Floats) -> float:
    """V_θ^π of the current state."""
    chosen = mdp.policy[1:]
    chance, reward = mdp.step_chances(theta)[chosen][:, 1:], mdp.step_rewards(theta)[chosen]
    values = np.atleast_1d(spsolve((eye_array(len(chosen)) - mdp.gamma * chance).tocsc(), reward))
    return float(values[mdp.state - 1])
