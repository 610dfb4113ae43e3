"""What repeating an action is worth, roughly: as if θ never changed and were nothing but its prior.

Solving begins with the policies that repeat one action. Their values for every θ can take long, so they are computed
for the most promising ones only, and this says which those are.
"""

import numpy as np

from pomdplite.compile.jit import Floats, Ints, kernel
from pomdplite.mdp.distinct_steps import ALL, StepValues, allocate_step_values, evaluate_steps
from pomdplite.mdp.full_information import repeated_action
from pomdplite.mdp.momdp import Joint, Momdp
from pomdplite.mdp.reachable import Graph

_LITTLE = 0.01  # the weight of a reward at which later ones no longer count
_LONGEST = 200  # steps


def values_of_repeating(momdp: Momdp, gamma: float) -> Floats:
    """For each action, about what repeating it from the initial state is worth, with the first legal one elsewhere."""
    reachable, table = momdp.reachable, momdp.view.table
    means = allocate_step_values(reachable.distinct)
    evaluate_steps(momdp.view.kernel_model, reachable.distinct, table.prior, 0.0, means, ALL)
    root = int(reachable.find(momdp.view.root()))
    steps = _LONGEST if gamma == 1 else min(_LONGEST, int(np.log(_LITTLE) / np.log(gamma)) + 1)
    worth, occupied = np.zeros(len(momdp.view.model.actions)), np.zeros((2, reachable.states))
    for action in range(len(worth)):
        occupied[:] = 0.0
        occupied[0, root] = 1.0
        pairs = repeated_action(momdp, action)
        worth[action] = _follow(
            reachable.graph, momdp.joint, reachable.distinct.first_branch, means, pairs, occupied, steps, gamma
        )
    return worth


@kernel
def _follow(
    graph: Graph, joint: Joint, first_branch: Ints, means: StepValues, pairs: Ints, occupied: Floats, steps: int,
    gamma: float,
) -> float:  # fmt: skip
    """Σ γ^t of the mean rewards, where occupied[0] has the probability of every state at the beginning."""
    total, weight = 0.0, 1.0
    for t in range(steps):
        now, later = occupied[t % 2], occupied[1 - t % 2]
        for s in range(later.shape[0]):
            later[s] = 0.0
        for s in range(1, now.shape[0]):
            if now[s] > 0.0:
                r = graph.step[pairs[s]]
                total += weight * now[s] * means.reward[r]
                for branch in range(first_branch[r + 1] - first_branch[r]):
                    later[graph.next[joint.edge[pairs[s]] + branch]] += now[s] * means.chance[first_branch[r] + branch]
        weight *= gamma
    return total
