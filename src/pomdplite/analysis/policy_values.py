"""The value of acting on a planner from here on, V^A(b, s): every outcome is followed, as far as beliefs are new.

The planner decides by its belief f, the world by the posterior p. They are the same, unless the planner has stopped
updating its belief for known pairs (`PomdpLite(known=ε)`). A node is (s, f, p); values solve

    V(s, f, p) = R(p, s, a) + γ Σ_e P(e | p, s, a) V(s_e, f_e, p_e),      a = the planner's choice at (s, f)

Where the number of nodes is limited, the value beyond lies between those of the smallest and the largest reward.
"""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csc_array, eye_array
from scipy.sparse.linalg import spsolve

from pomdplite.analysis.frozen import exact_graph
from pomdplite.compile.jit import Floats
from pomdplite.mdp.reward_range import reward_scale
from pomdplite.mdp.solution import Solution
from pomdplite.planners.decision import choose
from pomdplite.planners.pomdp_lite import PomdpLite

NODES = 50_000
_DIGITS = 12  # to which beliefs must agree to be one


class PolicyNode(NamedTuple):
    """Where the planner is: a state of its graph, its belief, and the posterior given all that has happened."""

    state: int
    belief: Floats
    posterior: Floats

    @property
    def key(self) -> tuple[int, bytes, bytes]:
        """The same for nodes that are one."""
        return self.state, np.round(self.belief, _DIGITS).tobytes(), np.round(self.posterior, _DIGITS).tobytes()


class _Edge(NamedTuple):
    node: int
    to: int
    chance: float


class PolicyValues:
    """Values of one planner's policy at the nodes given, and at all that follow."""

    def __init__(self, planner: PomdpLite, nodes: list[PolicyNode], limit: int = NODES) -> None:
        self.planner, self.reachable = planner, exact_graph(planner)
        self.scale, self.gamma = reward_scale(self.reachable), planner.discount
        self._numbers: dict[tuple[int, bytes, bytes], int] = {}
        self._nodes: list[PolicyNode] = []
        self._edges: list[_Edge] = []
        self._rewards: list[float] = []
        for node in nodes:
            self._number(node)
        while len(self._rewards) < min(limit, len(self._nodes)):
            self._expand(self._nodes[len(self._rewards)])
        self._low, self._high = self._solve(self.scale.low), self._solve(self.scale.high)

    @property
    def complete(self) -> bool:
        """Whether every outcome was followed."""
        return len(self._rewards) == len(self._nodes)

    def bounds(self, node: PolicyNode) -> tuple[float, float]:
        """Bounds on the value at a node that was given."""
        at = self._numbers[node.key]
        return float(self._low[at]), float(self._high[at])

    def _number(self, node: PolicyNode) -> int:
        found = self._numbers.setdefault(node.key, len(self._nodes))
        if found == len(self._nodes):
            self._nodes.append(node)
        return found

    def _expand(self, node: PolicyNode) -> None:
        reachable, number = self.reachable, len(self._rewards)
        solution = self._decide(node)
        action = choose(solution.actions, solution.q)
        pair = next(int(i) for i in reachable.actions(node.state) if reachable.graph.action[i] == action)
        step = int(reachable.graph.step[pair])
        reward, likelihood, branch, _ = reachable.likelihood(step)
        block = int(reachable.distinct.component[step])
        rows = slice(*reachable.view.table.offsets[block : block + 2])
        next_states = reachable.edges(node.state, pair)
        self._rewards.append(float(node.posterior[rows] @ reward))
        frozen = self._is_known(solution, action)
        for e, to in enumerate(next_states[branch]):
            posterior, chance = _updated(node.posterior, rows, likelihood[e])
            if chance > 0 and to > 0:
                same = node.belief is node.posterior and not frozen
                belief = posterior if same else node.belief if frozen else _updated(node.belief, rows, likelihood[e])[0]
                self._edges.append(_Edge(number, self._number(PolicyNode(int(to), belief, posterior)), chance))

    def _decide(self, node: PolicyNode) -> Solution:
        s = self.reachable.graph.states[node.state]
        return self.planner.solver.solve(self.planner.belief.kernel_model, s, node.belief)

    def _is_known(self, solution: Solution, action: int) -> bool:
        if self.planner.known is None:
            return False
        threshold = self.planner.known * (1 - self.gamma) * self.scale.unit
        return float(solution.mean_bonus[solution.actions == action][0]) < threshold

    def _solve(self, reward_beyond: float) -> Floats:
        """The values, if every reward beyond the nodes is this one."""
        n, found = len(self._nodes), np.full(len(self._nodes), reward_beyond / (1 - self.gamma))
        found[: len(self._rewards)] = self._rewards
        at, to, chance = (np.array(column) for column in zip(*self._edges, strict=True)) if self._edges else ([],) * 3
        within = csc_array((chance, (at, to)), shape=(n, n))
        return np.atleast_1d(spsolve((eye_array(n) - self.gamma * within).tocsc(), found))


def _updated(b: Floats, rows: slice, likelihood: Floats) -> tuple[Floats, float]:
    """Bayes' rule on one block, and the probability of the outcome."""
    weights = b[rows] * likelihood
    chance = float(weights.sum())
    if chance <= 0:
        return b, 0.0
    after = b.copy()
    after[rows] = weights / chance
    return after, chance
