"""Equation 2: the internal-reward MDP, solved exactly by value iteration on the reachable states.

    Ṽ(b, s) = max_a { R̃(b, s, a) + γ Σ_s' P(s' | b, s, a) Ṽ(b, s') }      (Equation 2 of the paper), b frozen

Once b is frozen the last observation affects neither reward nor transition, so the states are s = x (with the maps of
a changing θ) rather than (x, õ). Components (components.py) are solved one by one, successors first. Within a
component, Gauss–Seidel sweeps in alternating directions cover only the actions that stay in it, and a loop from a
state to itself is solved in closed form. After a belief update, only those components are solved again that the
change can affect and that the agent can still reach.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, inlined, inner, kernel
from pomdplite.mdp.action_values import allocate_bonus_workspace, principal_line, root_action_values
from pomdplite.mdp.bellman import InternalMdp, action_value_if_repeated, forever
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.components import Components
from pomdplite.mdp.distinct_steps import ALL, allocate_step_values, evaluate_steps
from pomdplite.mdp.reachable import Reachable
from pomdplite.mdp.solution import LONGEST_LINE, Solution
from pomdplite.mdp.unbounded import no_way_out, not_converging_error

TOLERANCE = 1e-6  # largest error of a value, in units of reward
_MAX_SWEEPS = 20_000  # per component without discount; then the component is examined for an unbounded loop
_MAX_SWEEPS_DISCOUNTED = 100_000_000  # with a discount every component converges
_PAIRS = 20_000_000  # state-actions evaluated between two readings of the clock
_CONVERGED, _PAUSED = -1, -2  # in the place of a component that does not converge
_UNBOUNDED = -1.0

# Indices into _Workspace.at and _Workspace.largest.
_COMPONENT, _SWEEP, _SOLVED, _EVALUATED = range(4)
_RESIDUAL, _CHANGE = range(2)


class _Workspace(NamedTuple):
    """Arrays of value iteration."""

    v: Floats  # [state] Ṽ
    fixed: Floats  # [state] the best of the actions whose value is known before the component is solved
    reach: Flags  # [component] whether it can be reached from the current state
    moved: Flags  # [component] whether a value in it has changed
    at: Ints  # [4] the component and sweep at which solving goes on, the states solved; all state-actions evaluated
    largest: Floats  # [2] the largest residual of all components, and the largest change of the one being solved


class _Stopping(NamedTuple):
    """When to stop sweeping a component."""

    residual: float
    max_sweeps: int


class ValueIteration:
    """Value iteration on one graph that keeps the values from one belief to the next."""

    def __init__(
        self, reachable: Reachable, gamma: float, beta: float, *, tolerance: float = TOLERANCE,
        deadline: Deadline = NO_DEADLINE,
    ) -> None:  # fmt: skip
        self.reachable, self.gamma, self.beta, self.deadline = reachable, gamma, beta, deadline
        self._mdp = InternalMdp(
            graph=reachable.graph,
            distinct=reachable.distinct,
            values=allocate_step_values(reachable.distinct),
            gamma=float(gamma),
            beta=float(beta),
        )
        states, components = reachable.states, len(reachable.components.first) - 1
        self.values: Floats = np.zeros(states)
        self._work = _Workspace(
            v=self.values,
            fixed=np.zeros(states),
            reach=np.zeros(components, np.bool_),
            moved=np.zeros(components, np.bool_),
            at=np.zeros(4, np.int64),
            largest=np.zeros(2),
        )
        self._bonus_work = allocate_bonus_workspace(states)
        self._line = np.zeros(LONGEST_LINE, np.int32), np.zeros(LONGEST_LINE, np.int64)  # its actions and states
        # A residual r leaves an error of at most r γ / (1 − γ).
        self._stopping = _Stopping(
            residual=float(tolerance if gamma in (0.0, 1.0) else tolerance * min(1.0, (1 - gamma) / gamma)),
            max_sweeps=_MAX_SWEEPS if gamma == 1 else _MAX_SWEEPS_DISCOUNTED,
        )
        self._belief: Floats | None = None  # the belief that `values` is for
        self._evaluated: Floats | None = None  # the belief that the numbers of the steps are for
        self._prior: tuple[Floats, Floats] | None = None  # a prior and its values
        self.evaluations = 0  # of all steps under a belief: work as a count, the same on every machine

    def reset(self, prior: Floats) -> None:
        """Start from the solution for the prior, so that an episode does not depend on earlier ones."""
        if self._prior is None or not np.array_equal(self._prior[0], prior):
            self._belief = None
            root = self.reachable.states - 1
            self._solve(root, prior)
            self._prior = (prior.copy(), self.values.copy())
        self._belief = self._prior[0].copy()
        self.values[:] = self._prior[1]
        self._evaluate(self._belief)

    @property
    def evaluated(self) -> int:
        """State-actions evaluated so far, likewise."""
        return int(self._work.at[_EVALUATED])

    def solve_at(self, state: int, b: Floats) -> Solution:
        """Solve for the belief b all that `state` can reach."""
        solved, residual = self._solve(state, b)
        graph, components, values = self.reachable.graph, self.reachable.components, self._mdp.values
        pairs = self.reachable.actions(state)
        q, bonus_part = root_action_values(self._mdp, state, pairs, self.values, self._bonus_work)
        steps = graph.step[pairs]
        line = self._line[0][: principal_line(self._mdp, state, self.values, *self._line)]
        return Solution(
            solver="value iteration",
            actions=graph.action[pairs],
            q=q,
            bonus_part=bonus_part,
            mean_reward=values.reward[steps],
            mean_bonus=self.beta * values.bonus[steps],
            states=int(_states_within_reach(components, components.of[state], self._work.reach)),
            solved=solved,
            residual=residual,
            line=tuple(line.tolist()),
        )

    def _evaluate(self, b: Floats) -> None:
        """The numbers of the steps under the belief b; only those of components whose belief has changed are new."""
        changed, model = ALL, self.reachable.view.kernel_model
        if self._evaluated is not None:
            changed = _changed_components(self._evaluated, b, self.reachable.view.table.offsets)
        evaluate_steps(model, self._mdp.distinct, b, self._mdp.beta, self._mdp.values, changed)
        self.evaluations += 1
        self._evaluated = b.copy()

    def _solve(self, state: int, b: Floats) -> tuple[int, float]:
        """Update the values to the belief b: (states solved again, largest residual)."""
        components = self.reachable.components
        changed = ALL
        if self._belief is not None:
            changed = _changed_components(self._belief, b, self.reachable.view.table.offsets)
            if changed == 0:
                return 0, 0.0
        self._evaluate(b)
        root, everything = int(components.of[state]), self._belief is None
        self._belief = None  # until all components are solved
        self._work.at[:_EVALUATED] = 0
        while (
            stuck := _solve_components(self._mdp, components, root, changed, everything, self._work, self._stopping)
        ) == _PAUSED:
            self.deadline.check(f"{self.reachable.view.model.name}: value iteration")
        if stuck != _CONVERGED or self.values[state] == -np.inf:
            component = int(stuck) if stuck != _CONVERGED else root
            raise not_converging_error(self.reachable, self._mdp, component, self.values, _MAX_SWEEPS)
        self._belief = b.copy()
        return int(self._work.at[_SOLVED]), float(self._work.largest[_RESIDUAL])


def _changed_components(old: Floats, new: Floats, offsets: Ints) -> np.uint64:
    """A bit for each θ component (mod 64) whose belief differs."""
    bits = 0
    for c in np.unique(np.searchsorted(offsets, np.flatnonzero(old != new), side="right") - 1):
        bits |= 1 << (int(c) % 64)
    return np.uint64(bits)


@kernel
def _states_within_reach(components: Components, root: int, reach: Flags) -> int:
    """Number of states in the components reachable from component `root`."""
    _mark_reach(components, root, reach)
    total = 0
    for c in range(root + 1):
        if reach[c]:
            total += components.first[c + 1] - components.first[c]
    return total


@inner
def _mark_reach(components: Components, root: int, reach: Flags) -> None:
    """Mark the components reachable from `root`, all of which have smaller numbers."""
    reach[:] = False
    reach[root] = True
    for c in range(root, -1, -1):
        if reach[c]:
            for i in range(components.first_next[c], components.first_next[c + 1]):
                reach[components.next[i]] = True


@kernel
def _solve_components(
    mdp: InternalMdp, components: Components, root: int, changed: np.uint64, everything: bool, work: _Workspace,
    stopping: _Stopping,
) -> int:  # fmt: skip
    """Solve what the belief change affects, successors first: _CONVERGED, or the component that does not converge.

    _PAUSED if it took long: to be called again.
    """
    if work.at[_COMPONENT] == 0:
        _mark_reach(components, root, work.reach)
        work.at[_COMPONENT] = 1
        work.largest[_RESIDUAL] = 0.0
    evaluated = 0
    for c in range(work.at[_COMPONENT], root + 1):
        first, last = components.first[c], components.first[c + 1]
        work.at[_COMPONENT] = c
        if work.at[_SWEEP] == 0:
            if evaluated >= _PAIRS:
                return _PAUSED
            work.moved[c] = False
            if not work.reach[c]:
                continue
            needed = everything or (components.touch[c] & changed) != np.uint64(0)
            for i in range(components.first_next[c], components.first_next[c + 1]):
                needed = needed or work.moved[components.next[i]]
            if not needed:
                continue
        before, evaluated = evaluated, evaluated + mdp.graph.first[last] - mdp.graph.first[first]
        left, evaluated = _solve_component(mdp, first, last, work, stopping, evaluated)
        work.at[_EVALUATED] += evaluated - before
        if work.at[_SWEEP] > 0:
            return _PAUSED
        if left == np.inf and mdp.gamma == 1.0 and no_way_out(mdp, first, last, work.v):
            for state in range(first, last):
                work.v[state] = -np.inf  # every way to stay costs forever, and none leads out
            left, work.largest[_CHANGE] = 0.0, np.inf
        if left == np.inf:
            return c
        work.moved[c] = work.largest[_CHANGE] > 0.0
        work.at[_SOLVED] += last - first
        work.largest[_RESIDUAL] = max(work.largest[_RESIDUAL], left)
    return _CONVERGED


@inner
def _solve_component(
    mdp: InternalMdp, first: int, last: int, work: _Workspace, stopping: _Stopping, evaluated: int
) -> tuple[float, int]:
    """Value iteration on one component: the residual, infinite if it does not converge; and state-actions evaluated.

    The largest change of a value is in work.largest. If it takes long, it ends with the next sweep in work.at, and goes
    on from there when it is called again.
    """
    if work.at[_SWEEP] == 0:
        finite, inner = _begin_component(mdp, first, last, work)
        if not (finite and inner):
            return 0.0 if finite else np.inf, evaluated
    left = np.inf
    for sweep in range(work.at[_SWEEP], stopping.max_sweeps):
        if evaluated >= _PAIRS and sweep > 0:
            work.at[_SWEEP] = sweep
            return left, evaluated
        evaluated += mdp.graph.first[last] - mdp.graph.first[first]
        left = _sweep(mdp, first, last, work, sweep % 2 == 1)
        if left == _UNBOUNDED:
            break
        work.largest[_CHANGE] = max(work.largest[_CHANGE], left)
        if left <= stopping.residual:
            work.at[_SWEEP] = 0
            return left, evaluated
    work.at[_SWEEP] = 0
    return np.inf, evaluated


@inlined
def _begin_component(mdp: InternalMdp, first: int, last: int, work: _Workspace) -> tuple[bool, bool]:
    """The values that are final before any sweep: whether they are finite, and whether sweeps are needed."""
    v, inner = work.v, False
    work.largest[_CHANGE] = 0.0
    for s in range(first, last):
        best = _best_leaving_action(mdp, s, v)
        if best == np.inf:
            return False, False
        work.fixed[s] = best
        if mdp.graph.split[s] > mdp.graph.first[s]:
            inner = True
        elif v[s] != best:
            work.largest[_CHANGE] = max(work.largest[_CHANGE], abs(v[s] - best))
            v[s] = best
    if inner and mdp.gamma == 1.0:
        for s in range(first, last):
            v[s] = 0.0  # without discount, an old value could sustain itself in a loop without reward
        work.largest[_CHANGE] = np.inf
    return True, inner


@inlined
def _best_leaving_action(mdp: InternalMdp, s: int, v: Floats) -> float:
    """The largest Q̃ among the actions that leave the component for good or only loop; their values are final."""
    graph, distinct, values, gamma = mdp.graph, mdp.distinct, mdp.values, mdp.gamma
    best = -np.inf
    edge = graph.split_edge[s]
    for pair in range(graph.split[s], graph.first[s + 1]):
        r = graph.step[pair]
        k = distinct.branches[r]
        q = values.internal[r]
        if k == 1:
            t = graph.next[edge]
            q = forever(q, gamma) if t == s else q + gamma * v[t]
        else:
            for j in range(k):
                chance = values.chance[distinct.first_branch[r] + j]
                if chance > 0.0:  # an impossible next state may be worth -inf
                    q += gamma * chance * v[graph.next[edge + j]]
        edge += k
        best = max(best, q)
    return best


@inlined
def _sweep(mdp: InternalMdp, first: int, last: int, work: _Workspace, backwards: bool) -> float:
    """One Gauss–Seidel sweep over the actions that stay in a component: the largest change, or _UNBOUNDED."""
    graph, v, left = mdp.graph, work.v, 0.0
    for i in range(last - first):
        s = last - 1 - i if backwards else first + i
        best = work.fixed[s]
        edge = graph.first_edge[s]
        for pair in range(graph.first[s], graph.split[s]):
            best = max(best, action_value_if_repeated(mdp, s, pair, edge, v))
            edge += mdp.distinct.branches[graph.step[pair]]
        if best == np.inf:
            return _UNBOUNDED
        if v[s] != best:
            left = max(left, abs(v[s] - best))
            v[s] = best
    return left
