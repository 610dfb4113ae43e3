"""The internal-reward MDP, solved exactly by value iteration on the reachable states.

    Ṽ(b, s) = max_a { R̃(b, s, a) + γ Σ_s' P(s' | b, s, a) Ṽ(b, s') }      (Equation 2 of the paper), b frozen

The last observation influences neither reward nor transition once b is frozen, so the states are s = x (with the
maps of a changing θ), not (x, õ). Components (components.py) are solved one after the other, successors first; in
each, Gauss–Seidel sweeps in alternating directions touch only the actions that stay in it, and a loop from a state
to itself is solved in closed form. From step to step, only components that the belief change can have reached, and
that the agent can still reach, are solved again.
"""

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Small, Words, allocating_kernel, kernel
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp.bellman import action_value, first_edge_of, for_ever, greedy
from pomdplite.mdp.components import Components
from pomdplite.mdp.distinct_steps import DistinctSteps, StepValues, allocate_step_values, evaluate_steps
from pomdplite.mdp.reachable import STATE_LIMIT, Graph, Reachable, build
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.unbounded import no_way_out, unbounded_loop
from pomdplite.model.compiled import KernelView

TOLERANCE = 1e-6  # largest error of a value, in units of reward
_MOST_SWEEPS = 20_000  # of one component without discount, before it is examined for a loop that never settles
_MOST_SWEEPS_DISCOUNTED = 100_000_000  # with discount it always settles
_SOLVED = -1


class ValueIteration:
    """Keeps the graph and the values from belief to belief."""

    def __init__(self, reachable: Reachable, gamma: float, beta: float, *, tolerance: float = TOLERANCE) -> None:
        self.reachable, self.gamma, self.beta = reachable, gamma, beta
        # A residual r leaves an error of at most r γ / (1 − γ).
        self._residual = tolerance if gamma in (0.0, 1.0) else tolerance * min(1.0, (1 - gamma) / gamma)
        self._steps = allocate_step_values(reachable.distinct, reachable.distinct_count)
        states, components = reachable.states, len(reachable.components.first) - 1
        self.values: Floats = np.zeros(states)
        self._fixed = np.zeros(states)
        self._bonus = np.zeros(states)
        self._mark = np.zeros(states, np.int32)
        self._flags = np.zeros((2, components), np.bool_)
        self._belief: Floats | None = None  # the belief that `values` solves
        self._prior: tuple[Floats, Floats] | None = None

    def reset(self, prior: Floats) -> None:
        """Start from the solution for the prior, so that an episode does not depend on those before it."""
        if self._prior is None or not np.array_equal(self._prior[0], prior):
            self._belief = None
            root = self.reachable.states - 1
            self._solve(root, prior)
            self._prior = (prior.copy(), self.values.copy())
        self._belief = self._prior[0].copy()
        self.values[:] = self._prior[1]
        self._evaluate(self._belief)

    def solve_at(self, state: int, b: Floats) -> Solution:
        """Solve for belief b as far as `state` needs it."""
        solved, residual = self._solve(state, b)
        r, graph = self.reachable, self.reachable.graph
        pairs = r.actions(state)
        q, bonus = _action_values(
            graph, r.distinct, self._steps, state, self.values, self._bonus, self._mark, self.gamma, self.beta, pairs
        )
        steps = graph.step[pairs]
        covered = int(_covered(r.components, r.components.of[state], self._flags[0]))
        return Solution(
            "value iteration", graph.action[pairs], q, bonus, self._steps.reward[steps],
            self.beta * self._steps.bonus[steps], covered, solved, residual,
        )  # fmt: skip

    def _evaluate(self, b: Floats) -> None:
        r = self.reachable
        evaluate_steps(r.view.kernel_model, r.distinct, r.distinct_count, b, self.beta, self._steps)

    def _solve(self, state: int, b: Floats) -> tuple[int, float]:
        r = self.reachable
        changed = np.uint64(0xFFFFFFFFFFFFFFFF)
        if self._belief is not None:
            changed = _changed(self._belief, b, r.view.table.offsets)
            if changed == 0:
                return 0, 0.0
        self._evaluate(b)
        root = int(r.components.of[state])
        stuck, solved, residual = _sweep_components(
            r.graph, r.distinct, self._steps, r.components, root, changed, self._belief is None, self.values,
            self._fixed,
            self._flags, self.gamma, self._residual, _MOST_SWEEPS if self.gamma == 1 else _MOST_SWEEPS_DISCOUNTED,
        )  # fmt: skip
        if stuck != _SOLVED or self.values[state] == -np.inf:
            self._belief = None
            raise self._not_converging(int(stuck) if stuck != _SOLVED else root)
        self._belief = b.copy()
        return int(solved), float(residual)

    def _not_converging(self, component: int) -> NotConvergingError:
        """Name a loop that earns, or costs, for ever."""
        r = self.reachable
        first, last = r.components.first[component : component + 2]
        state, pair, gain = unbounded_loop(r.graph, r.distinct, self._steps, first, last, self.values, self.gamma)
        model, where = r.view.model, r.view.describe(r.graph.states[state])
        name = model.name
        if pair >= 0 and gain > 0:
            row = r.graph.step[pair]
            parts = f"reward {self._steps.reward[row]:g}, bonus {self.beta * self._steps.bonus[row]:g}"
            return NotConvergingError(
                f"{name}: with discount {self.gamma:g} the value is unbounded: from x = ({where}) a loop that starts "
                f"with {model.actions[r.graph.action[pair]]!r} ({parts}) earns {gain:g} a step for ever. "
                "Use a discount below 1, beta=0 if the bonus is the cause, or a model in which the loop costs."
            )
        if pair >= 0 and gain < 0:
            return NotConvergingError(
                f"{name}: with discount {self.gamma:g} the value is unbounded below: from x = ({where}) no legal "
                "action leads towards a terminal state, and staying costs for ever. Use a discount below 1, or give a "
                "way to end."
            )
        return NotConvergingError(
            f"{name}: value iteration did not settle within {_MOST_SWEEPS:,} sweeps around x = ({where}) with discount "
            f"{self.gamma:g}; use a smaller discount or a larger tolerance."
        )


class Exact:
    """Value iteration as a solver: builds the graph when it is first needed."""

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, tolerance: float = TOLERANCE, limit: int = STATE_LIMIT
    ) -> None:
        if not view.listed:
            raise TooLargeError(f'{view.model.name}: its hidden values cannot be listed; use solver="uct".')
        self.view, self.gamma, self.beta, self.tolerance, self.limit = view, gamma, beta, tolerance, limit
        self.build(view.root())

    def build(self, root: Words) -> None:
        """The graph of what can be reached from a state."""
        self.reachable = build(self.view, root, limit=self.limit)
        self.iteration = ValueIteration(self.reachable, self.gamma, self.beta, tolerance=self.tolerance)

    def reset(self, prior: Floats, seed: int) -> None:
        """Start from the solution for the prior."""
        self.iteration.reset(prior)

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Solve for belief b as far as s needs it."""
        state = self.reachable.find(s)
        if state < 0:  # a world outside the model put us where the model never leads
            self.build(s)
            state = self.reachable.find(s)
        return self.iteration.solve_at(state, b)


def _changed(old: Floats, new: Floats, offsets: Ints) -> np.uint64:
    """Bits of the θ components (mod 64) whose belief differs."""
    bits = 0
    for c in np.searchsorted(offsets, np.flatnonzero(old != new), side="right") - 1:
        bits |= 1 << (int(c) % 64)
    return np.uint64(bits)


@kernel
def _covered(components: Components, root: int, reach: Flags) -> int:
    """Number of states in the components reachable from component `root`."""
    _reach(components, root, reach)
    total = 0
    for c in range(root + 1):
        if reach[c]:
            total += components.first[c + 1] - components.first[c]
    return total


@kernel
def _reach(components: Components, root: int, reach: Flags) -> None:
    """Mark the components that can be reached; they all have smaller numbers."""
    reach[:] = False
    reach[root] = True
    for c in range(root, -1, -1):
        if reach[c]:
            for i in range(components.first_next[c], components.first_next[c + 1]):
                reach[components.next[i]] = True


@kernel
def _sweep_components(
    graph: Graph, distinct: DistinctSteps, values: StepValues, components: Components, root: int, changed: np.uint64,
    everything: bool, v: Floats, fixed: Floats, flags: Flags, gamma: float, tolerance: float, most: int,
) -> tuple[int, int, float]:  # fmt: skip
    """Solve what needs solving, successors first: (component that does not settle or _SOLVED, states, residual)."""
    reach, moved = flags[0], flags[1]
    _reach(components, root, reach)
    solved, residual = 0, 0.0
    for c in range(1, root + 1):
        moved[c] = False
        if not reach[c]:
            continue
        needed = everything or (components.touch[c] & changed) != np.uint64(0)
        for i in range(components.first_next[c], components.first_next[c + 1]):
            needed = needed or moved[components.next[i]]
        if not needed:
            continue
        first, last = components.first[c], components.first[c + 1]
        settled, left, change = _solve_component(graph, distinct, values, first, last, v, fixed, gamma, tolerance, most)
        if not settled and gamma == 1.0 and no_way_out(graph, distinct, values, first, last, v):
            for state in range(first, last):
                v[state] = -np.inf  # staying costs for ever and there is nowhere to go
            settled, left, change = True, 0.0, np.inf
        if not settled:
            return c, solved, left
        moved[c] = change > 0.0
        solved += last - first
        residual = max(residual, left)
    return _SOLVED, solved, residual


@kernel
def _solve_component(
    graph: Graph, distinct: DistinctSteps, values: StepValues, first: int, last: int, v: Floats, fixed: Floats,
    gamma: float,
    tolerance: float, most: int,
) -> tuple[bool, float, float]:  # fmt: skip
    """Value iteration on one component: (whether it settled, residual, largest change of a value)."""
    inner = False
    change = 0.0
    for s in range(first, last):
        # Actions that leave for good, or only loop: their value is known now.
        best = -np.inf
        edge = graph.split_edge[s]
        for pair in range(graph.split[s], graph.first[s + 1]):
            r = graph.step[pair]
            k = distinct.branches[r]
            q = values.internal[r]
            if k == 1:
                t = graph.next[edge]
                if t == s:
                    q = for_ever(q, gamma)
                    if q == np.inf:
                        return False, np.inf, np.inf
                else:
                    q += gamma * v[t]
            else:
                for j in range(k):
                    chance = values.chance[distinct.first_branch[r] + j]
                    if chance > 0.0:  # a state of value -inf may be impossible
                        q += gamma * chance * v[graph.next[edge + j]]
            edge += k
            best = max(best, q)
        fixed[s] = best
        if graph.split[s] > graph.first[s]:
            inner = True
        else:
            if v[s] != best:
                change = max(change, abs(v[s] - best))
                v[s] = best
    if not inner:
        return True, 0.0, change
    if gamma == 1.0:
        for s in range(first, last):
            v[s] = 0.0  # a value left from before could keep itself up in a loop without reward
        change = np.inf
    left = np.inf
    for sweep in range(most):
        left = 0.0
        for i in range(last - first):
            s = first + i if sweep % 2 == 0 else last - 1 - i
            best = fixed[s]
            edge = graph.first_edge[s]
            for pair in range(graph.first[s], graph.split[s]):
                r = graph.step[pair]
                k = distinct.branches[r]
                q = values.internal[r]
                if k == 1:
                    q += gamma * v[graph.next[edge]]
                else:
                    loop = 0.0
                    for j in range(k):
                        chance = values.chance[distinct.first_branch[r] + j]
                        if graph.next[edge + j] == s:
                            loop += chance
                        elif chance > 0.0:
                            q += gamma * chance * v[graph.next[edge + j]]
                    if loop > 0.0:
                        q = q / (1.0 - gamma * loop) if gamma * loop < 1.0 else for_ever(q, gamma)
                edge += k
                best = max(best, q)
            if best == np.inf:
                return False, np.inf, np.inf
            if v[s] != best:
                left = max(left, abs(v[s] - best))
                change = max(change, abs(v[s] - best))
                v[s] = best
        if left <= tolerance:
            return True, left, change
    return False, left, change


@allocating_kernel
def _action_values(
    graph: Graph, distinct: DistinctSteps, values: StepValues, root: int, v: Floats, bonus: Floats, mark: Small,
    gamma: float,
    beta: float, pairs: Ints,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Q̃ of the root's actions, and the part of it that bonuses contribute under the greedy policy."""
    q, part = np.zeros(pairs.shape[0]), np.zeros(pairs.shape[0])
    # The states that the greedy policy can visit after any first action.
    found = np.empty(64, np.int64)
    count = 0
    for i in range(pairs.shape[0]):
        edge = first_edge_of(graph, distinct, root, pairs[i])
        q[i] = action_value(graph, distinct, values, pairs[i], edge, v, gamma)
        for j in range(distinct.branches[graph.step[pairs[i]]]):
            found, count = _visit(found, count, mark, graph.next[edge + j])
    done = 0
    while done < count:
        pair, edge = greedy(graph, distinct, values, found[done], v, gamma)
        for j in range(distinct.branches[graph.step[pair]]):
            found, count = _visit(found, count, mark, graph.next[edge + j])
        done += 1
    visited = np.sort(found[:count])
    if beta > 0.0:
        _bonus_values(graph, distinct, values, visited, v, bonus, gamma, beta)
        for i in range(pairs.shape[0]):
            edge = first_edge_of(graph, distinct, root, pairs[i])
            r = graph.step[pairs[i]]
            part[i] = beta * values.bonus[r]
            for j in range(distinct.branches[r]):
                if graph.next[edge + j] != 0:
                    part[i] += gamma * values.chance[distinct.first_branch[r] + j] * bonus[graph.next[edge + j]]
    mark[visited] = 0
    return q, part


@allocating_kernel
def _visit(found: Ints, count: int, mark: Small, s: int) -> tuple[Ints, int]:
    if s == 0 or mark[s] != 0:
        return found, count
    mark[s] = 1
    if count == found.shape[0]:
        found = np.concatenate((found, np.empty_like(found)))
    found[count] = s
    return found, count + 1


@allocating_kernel
def _bonus_values(
    graph: Graph,
    distinct: DistinctSteps,
    values: StepValues,
    visited: Ints,
    v: Floats,
    bonus: Floats,
    gamma: float,
    beta: float,
) -> None:
    """The value of the bonuses alone under the greedy policy, on the visited states."""
    pairs, edges = np.empty_like(visited), np.empty_like(visited)
    for i in range(visited.shape[0]):
        pairs[i], edges[i] = greedy(graph, distinct, values, visited[i], v, gamma)
        bonus[visited[i]] = 0.0
    for _ in range(10_000):
        left = 0.0
        for i in range(visited.shape[0]):
            s, r = visited[i], graph.step[pairs[i]]
            total, loop = beta * values.bonus[r], 0.0
            for j in range(distinct.branches[r]):
                t = graph.next[edges[i] + j]
                chance = values.chance[distinct.first_branch[r] + j]
                if t == s:
                    loop += chance
                elif t != 0:
                    total += gamma * chance * bonus[t]
            if gamma * loop < 1.0:
                total /= 1.0 - gamma * loop
            left = max(left, abs(total - bonus[s]))
            bonus[s] = total
        if left <= 1e-9:
            return
