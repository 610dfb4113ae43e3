"""Solves the internal-reward MDP of a model with continuous states on the points of its grid, belief by belief.

Whenever the belief has changed, the steps from all points are computed under the new one (points.py) and the values are
brought up to date, from those of the last belief on (sweeps.py). The action is chosen by one exact step from the
present state, whose next states lie between the points. If the time of a step does not suffice, values are those of an
earlier belief: what is begun for a belief is brought to its end in the next steps.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import TooLargeError, UnsuitableError, UsageError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import NO_DEADLINE, Budget, Clock, Deadline
from pomdplite.mdp.grid.drawing import Drawing, allocate_drawing_work, drawing_for
from pomdplite.mdp.grid.points import (
    ACTIVE,
    AT_REST,
    BUILT,
    FOUND,
    GRAPH_FULL,
    PAUSED,
    RESTS_FULL,
    PointValues,
    allocate_space,
    begin,
    build,
    look_ahead,
    open_state,
    with_rests,
)
from pomdplite.mdp.grid.simplex import axes_of
from pomdplite.mdp.grid.sweeps import (
    EDGES,
    EVALUATIONS,
    NODES,
    PAIRS,
    allocate_point_graph,
    evaluate,
    improve,
    shift,
    with_room,
)
from pomdplite.mdp.real.frozen import canonical
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.value_iteration import TOLERANCE
from pomdplite.model.compiled import KernelView
from pomdplite.model.grid import Grid, declared_grid

POINT_LIMIT = 1_000_000
_EDGES = 8  # of a pair, at first
_VALUE, _BONUS = range(2)  # rows of GridSolver.values
_LATE = "the time was over before the grid's steps were computed: its values are those of an earlier belief"


class _Source(NamedTuple):
    """The belief of a graph."""

    b: Floats
    model: KernelModel  # whose θ are the belief's
    drawing: Drawing

    @classmethod
    def of(cls, b: Floats, model: KernelModel, drawing: Drawing) -> "_Source":
        """A copy, since beliefs change in place."""
        return cls(b.copy(), model._replace(theta=model.theta.copy()), drawing)

    def same(self, b: Floats, model: KernelModel) -> bool:
        """Whether it is this belief."""
        return np.array_equal(self.b, b) and np.array_equal(self.model.theta, model.theta)


class GridSolver:
    """Value iteration on the points of the model's grid.

    budget     of a decision, which ends when its seconds are over; without seconds, values are exact
    tolerance  largest error of a value at a point, in units of reward
    limit      the most points, those of all discrete states together
    grid       another grid than the model's own
    """

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, budget: Budget, tolerance: float = TOLERANCE,
        limit: int = POINT_LIMIT, grid: Grid | None = None,
    ) -> None:  # fmt: skip
        name, grid = view.model.name, grid or declared_grid(view.model)
        if grid is None:
            raise UnsuitableError(f'{name}: solver="grid" needs a grid = Grid(...) in the model.')
        if gamma >= 1:
            raise UnsuitableError(f"{name}: values on a grid need a discount below 1, not {gamma:g}.")
        self.view, self.gamma, self.beta, self.budget = view, float(gamma), float(beta), budget
        self.tolerance, self.limit = tolerance, limit
        self.shape = " × ".join(str(points) for _, _, points in grid.ranges.values())
        self._axes, self._deadline = axes_of(grid.axes(view.model.state, name)), NO_DEADLINE
        self._points = math.prod(self._axes.points.tolist())
        self._require_points(1)
        self._work = allocate_drawing_work(view)
        self._forget()
        self._source: _Source | None = None  # what the graph is for
        self._first: Floats | None = None  # values with which every episode begins

    def use_beta(self, beta: float) -> None:
        """Solve for this β from now on."""
        self.beta, self._source, self._first = float(beta), None, None
        self.values[:] = 0.0

    def prepare(self, kernel_model: KernelModel, s: Words, b: Floats, deadline: Deadline) -> None:
        """Solve for the prior, with whose values every episode begins."""
        budget, self.budget, self._deadline = self.budget, Budget(None), deadline
        try:
            self.solve(kernel_model, s, b)
        finally:
            self.budget, self._deadline = budget, NO_DEADLINE
        self._first = self.values.copy()

    def reset(self, prior: Floats, seed: int) -> None:
        """Start from the values for the prior. There is no chance in them: all decisions draw the same numbers."""
        self._source = None
        self.values[:] = 0.0
        if self._first is not None:
            self.values[:, : self._first.shape[1]] = self._first

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Solve for the belief b all points that s can reach, and take one exact step from s."""
        clock, nodes, residual = replace(self.budget, simulations=None).start(), 0, 0.0
        drawing = drawing_for(self.view, kernel_model, b, self.beta, self._work)
        state, notes = canonical(drawing.frozen, s).reshape(1, -1), tuple[str, ...]()
        while True:
            if self._source is None or (self._complete and not self._source.same(b, kernel_model)):
                self._begin(_Source.of(b, kernel_model, drawing))
            assert self._source is not None
            self._open(kernel_model, drawing, state)
            if not self._complete:
                if not self._build(self._source, clock):
                    notes = (_LATE,)
                    break
                nodes, residual = int(self._graph.counts[NODES]), self._sweep(clock)
                if residual > self.tolerance:
                    notes = (f"the time was over before the grid's values were exact: {residual:.2g} off at most",)
            if self._source.same(b, kernel_model):
                break
        return self._solution(kernel_model, drawing, state, nodes, residual, notes)

    def point_values(self, s: Words) -> Floats:
        """Ṽ at the points whose discrete fields are those of s, as an array with one axis for each of the grid's."""
        rest = s.copy()
        rest[self._axes.word] = 0
        known = self._space.rests[: self._space.counts[FOUND]]
        found = np.flatnonzero((known == rest).all(axis=1))
        if len(found) == 0:
            raise UsageError(f"{self.view.model.name}: no values are known for {self.view.describe(s)}.")
        first = 1 + int(found[0]) * self._points
        return self.values[_VALUE, first : first + self._points].reshape(self._axes.points)

    def all_values(self) -> PointValues:
        """Ṽ at all points, to interpolate between."""
        return PointValues(self._space, self.values[_VALUE].copy())

    # ------------------------------------------------------------------ the graph

    def _begin(self, source: "_Source") -> None:
        """Begin a graph for a belief."""
        if self.values.shape[1] > 1 + self.limit:  # rests of other beliefs have piled up
            self._forget()
        self._source = source
        begin(self._space, self._graph)

    @property
    def _complete(self) -> bool:
        """Whether the graph has the points of all active rests."""
        return bool(self._space.counts[AT_REST] == self._space.counts[ACTIVE])

    def _forget(self) -> None:
        """Make room for a first rest, and forget all others."""
        model = self.view.kernel_model
        self._space = allocate_space(self._axes, model.s_words, 2 * model.actions * len(self._work.next))
        self._graph = allocate_point_graph(0, 0, 0)
        self.values: Floats = np.zeros((2, 1 + self._points))  # [Ṽ, and what bonuses contribute to it; place]

    def _open(self, model: KernelModel, drawing: Drawing, state: Words) -> None:
        """Let the graph, and the values, have room for what can follow a state."""
        while open_state(model, drawing, self._space, state) == RESTS_FULL:
            self._space = with_rests(self._space, 2 * len(self._space.rests))
        self.view.raise_fault()
        self._make_places()

    def _build(self, source: "_Source", clock: Clock) -> bool:
        """Build on until the graph is complete; False if the time is over before."""
        done, status = 0, PAUSED
        while status != BUILT:
            portion = clock.portion(done)
            if portion == 0:
                return False
            status = build(source.model, source.drawing, self._space, self._graph, portion)
            self.view.raise_fault()
            done += portion
            if status == RESTS_FULL:
                self._space = with_rests(self._space, 2 * len(self._space.rests))
            elif status == GRAPH_FULL:
                self._make_room(source.drawing)
            self._deadline.check(f"{self.view.model.name}: computing the steps from the points of its grid")
        self._make_places()
        return True

    def _make_places(self) -> None:
        """Room for the values of all points."""
        missing = 1 + int(self._space.counts[FOUND]) * self._points - self.values.shape[1]
        if missing > 0:
            self.values = np.concatenate([self.values, np.zeros((2, missing))], axis=1)

    def _make_room(self, drawing: Drawing) -> None:
        """Room for the points of all active rests, and for the edges that they can be expected to have."""
        counts, graph, actions = self._space.counts, self._graph, self.view.kernel_model.actions
        self._require_points(int(counts[ACTIVE]))
        nodes, done = max(int(counts[ACTIVE]) * self._points, len(graph.value)), max(1, int(graph.counts[PAIRS]))
        if nodes > len(graph.value):  # discrete states are found one by one: room for more of them than are known
            nodes = max(nodes, min(2 * len(graph.value), self.limit))
        most = actions * len(drawing.work.next) * (len(self._axes.word) + 1)  # of one point
        edges = int(nodes * actions * max(_EDGES, 1.2 * graph.counts[EDGES] / done)) + most
        edges = max(edges, len(graph.next), 2 * (int(graph.counts[EDGES]) + most))
        memory.require(
            nodes * (12 + 24 * actions) + 12 * edges, f"{self.view.model.name}: a grid of {self.shape} points",
            "declare fewer points",
        )  # fmt: skip
        self._graph = with_room(graph, nodes, nodes * actions, edges)

    def _require_points(self, rests: int) -> None:
        """Refuse more points than the limit."""
        if rests * self._points > self.limit:
            states = f" for each of {rests:,} or more discrete states" if rests > 1 else ""
            raise TooLargeError(
                f"{self.view.model.name}: its grid has {self._points:,} points{states}; the limit is {self.limit:,}",
                "declare fewer points.",
            )

    # ------------------------------------------------------------------ the values

    def _sweep(self, clock: Clock) -> float:
        """Sweep until the values are exact up to the tolerance, or until the time is over: the largest error left."""
        graph, gamma, v = self._graph, self.gamma, self.values[_VALUE]
        nodes, later = int(graph.counts[NODES]), gamma / (1 - gamma)
        best, fresh, error = np.zeros(nodes, np.int32), np.zeros(nodes), np.inf
        while nodes > 0:
            low, high = improve(graph, gamma, v, best, fresh)
            error = later * (high - low) / 2
            if error <= self.tolerance:
                shift(graph, v, later * (low + high) / 2)
            if error <= self.tolerance or clock.left <= 0:
                break
            evaluate(graph, gamma, best, True, v, EVALUATIONS)
            self._deadline.check(f"{self.view.model.name}: value iteration on its grid")
        if self.beta > 0.0:
            while evaluate(graph, gamma, best, False, self.values[_BONUS], EVALUATIONS) > self.tolerance:
                if clock.left <= 0:
                    break
        return error if nodes > 0 else 0.0

    def _solution(
        self, model: KernelModel, drawing: Drawing, state: Words, solved: int, residual: float, notes: tuple[str, ...]
    ) -> Solution:
        actions = [a for a in range(model.actions) if abi.legal(model, state, 0, a)]
        found = np.zeros((len(actions), 4))  # mean reward, change of the belief, later value and its bonus part
        for row, a in zip(found, actions, strict=True):
            look_ahead(model, drawing, self._space, state, a, self.values, row)
        self.view.raise_fault()
        bonus = self.beta * found[:, 1]
        return Solution(
            solver="value iteration on a grid",
            actions=np.array(actions, np.int32),
            q=found[:, 0] + bonus + self.gamma * found[:, 2],
            bonus_part=bonus + self.gamma * found[:, 3],
            mean_reward=found[:, 0].copy(),
            mean_bonus=bonus,
            states=int(self._graph.counts[NODES]),
            solved=solved,
            residual=residual,
            notes=notes,
        )
