"""POMDP-lite: Algorithm 1 of the paper.

    t ← 0, b ← b₀, s ← s₀
    while not end and t < T:
        a ← argmax_a Q̃*(b, s, a)        solve the internal-reward MDP with b frozen: exactly
                                         (mdp/value_iteration.py), on the points of a grid (mdp/grid/), or by search
                                         from s (mdp/search/)
        (r, s') ← ExecuteAction(a)       a world (worlds/)
        b ← UpdateBelief(b, s')          Bayes' rule (beliefs/)

where Q̃* adds β times the expected L1 change of the belief to the reward (Definition 1, mdp/bonus.py).
"""

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import PARTICLES, ExactBelief, initial_belief
from pomdplite.compile.jit import Words
from pomdplite.errors import TooLargeError, UnsuitableError, UsageError
from pomdplite.mdp.budget import DEFAULT_SECONDS, SOLVE_SECONDS, Budget, Deadline
from pomdplite.mdp.counts.bonuses import BonusRule, expected_change
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.mdp.exact_solver import ExactSolver
from pomdplite.mdp.grid.leaves import leaf_grid, points_in
from pomdplite.mdp.grid.solver import POINT_LIMIT, GridSolver
from pomdplite.mdp.population_solver import PopulationSolver
from pomdplite.mdp.reachable import STATE_LIMIT
from pomdplite.mdp.reward_range import reward_scale, reward_spread
from pomdplite.mdp.search.drawn.solver import WideningSolver, has_many_likelihoods
from pomdplite.mdp.search.listed.solver import UctSolver
from pomdplite.mdp.solution import MdpSolver
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.mdp.value_iteration import TOLERANCE
from pomdplite.model.compiled import KernelView
from pomdplite.model.grid import declared_grid
from pomdplite.model.model import Model
from pomdplite.planners.base import Planner
from pomdplite.planners.beta import AUTO, ChosenBeta, automatic_beta
from pomdplite.planners.decision import Decision, choose
from pomdplite.planners.files import Computed

SOLVERS = ("auto", "exact", "grid", "uct", "uct-tree")
_PAIRS_PER_SECOND = 100e6  # state-actions that the exact solver solves per second, a conservative estimate
_STEPS_PER_SECOND = 4e6  # (x, θ, a) that the exact solver lists per second for particles, likewise
_PARTICLE_STEPS = 40_000_000  # most (x, θ, a) that it lists for a belief
_NUMBERS_PER_SECOND = 600e6  # numbers of distinct steps that it averages over a belief per second, likewise


class PomdpLite(Planner):
    """The paper's planner, which explores for a bonus: β times the expected change of the belief.

    beta          weight of exploration; "auto" chooses it for the model by simulated episodes (planners/beta.py).
                  Default: the model's own, or "auto"
    solver        "exact": value iteration on all reachable states; "uct": search on a graph of states; "uct-tree": the
                  paper's search on a tree; "auto": exact if the reachable states fit the step's budget and the memory,
                  otherwise uct; `choices` says why. Where steps have noise, observations are readings, or hidden
                  numbers with distributions change, "auto" and "uct" draw outcomes and widen (mdp/search/drawn/), and
                  "exact" and "uct-tree" are refused. That search also serves where a step has thousands of listed
                  observations × values of θ.
                  "grid": value iteration on the points of the model's `grid`; "auto" takes it if there is one and its
                  points fit the step's budget. A search with drawn outcomes values its leaves on a coarse version of
                  that grid, unless the model has a heuristic.
                  For a Population, "exact" means exact for the belief's particles
    time          time per step, in seconds; 0.1 by default
    sims          simulations per step, instead of time; the result then depends on the seed alone. On a grid, values
                  are then always exact
    search_depth  steps that the search looks ahead; default: the model's own, or to the end of the episode
    particles     number of particles, for models whose hidden values cannot be listed
    tolerance     largest error of a value of the exact solver, or at a grid point, in units of reward
    limit         most states of the exact solver
    solve_time    seconds that preparing, and each solution of the exact solver, may take; TooLargeError if it needs
                  longer, and "auto" then searches instead
    known         ε of the paper's analysis, a share of the range of rewards: the belief is not updated for a known
                  (s, a), one whose bonus is below ε(1 − γ) (the paper's definition of sample complexity). By default
                  every step updates it. Needs the exact solver
    """

    title: ClassVar[str] = "pomdp-lite"
    computed_kinds: ClassVar[Mapping[str, str]] = {"origin": "U"}
    bonus_rule: BonusRule = staticmethod(expected_change)  # of unknown probabilities, solved exactly
    discount: float

    def __init__(
        self,
        model: Model,
        beta: float | str | None = None,
        *,
        solver: str = "auto",
        time: float | None = None,
        sims: int | None = None,
        search_depth: int | None = None,
        particles: int = PARTICLES,
        tolerance: float = TOLERANCE,
        limit: int = STATE_LIMIT,
        solve_time: float = SOLVE_SECONDS,
        known: float | None = None,
    ) -> None:
        super().__init__(model, solve_time)
        if known is not None and not 0 < known < 1:
            raise UsageError(f"known must be between 0 and 1, a share of the range of rewards, not {known!r}.")
        if beta is not None and (beta != AUTO if isinstance(beta, str) else not 0 <= beta < math.inf):
            raise UsageError(f'beta must be a number of at least 0, or "{AUTO}", not {beta!r}.')
        if solver not in SOLVERS:
            raise UsageError(f"no solver {solver!r}; there are {', '.join(SOLVERS)}.")
        if known is not None and solver not in ("auto", "exact"):
            raise UsageError(f"known={known:g} needs the exact solver, not {solver!r}.")
        self.budget: Budget = Budget.of(time, sims)
        origin = "the problem's own" if beta is None else "given"
        beta = model.beta if beta is None else beta
        self.beta: float | None = None  # until it is chosen
        self._beta_origin = ""
        self._not_exact = ""  # why "auto" searches
        self._leaf_shape = ""  # of the grid that values the leaves of a search
        if not isinstance(beta, str | None):
            self.beta, self._beta_origin = beta, origin
        if search_depth is not None and search_depth < 1:
            raise UsageError(f"search_depth must be at least 1, not {search_depth!r}.")
        self.solver_name, self.time, self.sims, self.search_depth = solver, time, sims, search_depth
        self.particles, self.tolerance, self.limit = particles, tolerance, limit
        self.known = known
        self._known_bonus = 0.0  # below which (s, a) is known

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "beta": AUTO if self.beta is None else self.beta, "solver": self.solver_name, "time": self.time,
            "sims": self.sims, "search_depth": self.search_depth,
            "particles": self.particles, "tolerance": self.tolerance, "limit": self.limit,
            "solve_time": self.solve_time, "known": self.known,
        }  # fmt: skip

    @property
    def _settled_parameters(self) -> dict[str, Any]:
        names = {
            ExactSolver: "exact",
            CountsSolver: "exact",
            GridSolver: "grid",
            UctSolver: "uct",
            WideningSolver: "uct",
        }
        solver = names.get(type(self.solver), self.solver_name)
        return self.parameters | ({"solver": solver} if self.solver_name == "auto" else {})

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.belief = initial_belief(self.view, self.particles)
        on_grid = self.solver_name in ("auto", "grid") and declared_grid(self.model) is not None
        self.discount = planning_discount(self.model, on_grid=on_grid)
        self.solver = self._make_solver(self.beta or 0.0)
        if self.beta is None:
            self.beta, self._beta_origin = automatic_beta(self.belief, self.solver, self._deadline, self.now)
            self.belief.reset()
            self.solver.use_beta(self.beta)
            self.solver.reset(self.belief.probabilities, 0)
            if isinstance(self.solver, GridSolver):
                self._solve_grid(self.solver)
        self.deterministic = isinstance(self.solver, ExactSolver)
        if self.known is not None:
            self._known_bonus = self._bonus_of_known(self.known)
        if isinstance(self.solver, UctSolver | WideningSolver):
            self.solver.warm_up(self.belief.kernel_model, self.view.root(), self.belief.probabilities)

    def _bonus_of_known(self, epsilon: float) -> float:
        """ε(1 − γ), in units of reward."""
        if not isinstance(self.solver, ExactSolver | CountsSolver):
            raise UnsuitableError(f"{self.model.name}: known={epsilon:g} needs the exact solver, which is not in use.")
        if self.discount >= 1:
            raise UnsuitableError(f"{self.model.name}: known={epsilon:g} needs a discount below 1.")
        return epsilon * (1 - self.discount) * reward_scale(self.solver.reachable).unit

    def _advance(self, a: int, y: Words, o: int) -> None:
        if self.known is None:
            super()._advance(a, y, o)
            return
        assert self.beta is not None
        if self.beta * self.belief.expected_change(self.state, a) < self._known_bonus:
            if isinstance(self.belief, ExactBelief):  # θ may change, whatever is believed
                self.belief._advance_maps(self._x, a, y, o)
            self._x = y.copy()
        else:
            super()._advance(a, y, o)

    @property
    def choices(self) -> tuple[str, ...]:
        """β and where it comes from; whether the planner solves exactly, or its budget if it searches."""
        method = self.solver.method if isinstance(self.solver, CountsSolver) else "value iteration"
        exact = (method, *self._said_of_discount)
        solved = isinstance(self.solver, ExactSolver | PopulationSolver | CountsSolver)
        solving = exact if solved else super().choices
        if isinstance(self.solver, GridSolver):
            limits = solving if self.sims is None else ()  # there are no simulations to count
            solving = (f"value iteration on a grid of {self.solver.shape} points", *limits)
            solving += () if limits else self._said_of_discount
        if self._leaf_shape:
            solving = (*solving, f"leaves valued on a grid of {self._leaf_shape} points")
        if self._not_exact:
            solving = (*solving, f"searches, since {self._not_exact}")
        return (f"β = {self.chosen_beta}", *solving)

    @property
    def chosen_beta(self) -> ChosenBeta:
        """β and where it comes from; before `prepare` only if it need not be chosen."""
        if self.beta is None:
            raise UsageError("β is chosen while the planner is prepared: call prepare() first.")
        return ChosenBeta(self.beta, self._beta_origin)

    def _computed(self) -> Computed:
        return {"origin": np.array(self._beta_origin)}

    def use_computed(self, computed: Computed, origin: str) -> None:
        """Take over where β comes from; β itself is one of the parameters."""
        self._beta_origin = str(computed["origin"])

    def _require_outcomes(self, view: KernelView) -> None:
        """Noise and readings are searched, or solved on a grid; hidden numbers that change are searched; the other
        solvers need listed outcomes and values.
        """
        if self.solver_name not in ("auto", "uct"):
            view.require_kept(f'the solver "{self.solver_name}"')
        if self.solver_name not in ("auto", "grid", "uct"):
            view.require_listed(f'the solver "{self.solver_name}"')

    def _make_solver(self, beta: float) -> MdpSolver:
        if self.solver_name == "grid":
            return self._grid_solver(beta, POINT_LIMIT)
        changing = self.view.has_changing_numbers
        if self.solver_name == "auto" and declared_grid(self.model) is not None and self.discount < 1 and not changing:
            try:
                return self._grid_solver(beta, points_in(self.time or DEFAULT_SECONDS, self.view))
            except TooLargeError as why:
                self._not_exact = why.reason.removeprefix(f"{self.model.name}: ")
        if self.view.real or changing:
            has = "hidden numbers that change" if changing else self.view.real
            self._not_exact = self._not_exact or f"it has {has}"
            return self._widening_solver(beta)
        if self.solver_name == "exact":
            try:
                return self._exact_solver(beta, None, self._deadline)
            except TooLargeError as error:
                raise TooLargeError(f'{error} Use the online solver instead: solver="uct".') from None
        if self.solver_name == "auto":
            try:
                return self._exact_solver(beta, self.time or DEFAULT_SECONDS, Deadline(self.solve_time / 2, self.clock))
            except TooLargeError as why:
                self._not_exact = why.reason.removeprefix(f"{self.model.name}: ")
        return self._search(beta)

    def _exact_solver(self, beta: float, seconds: float | None, deadline: Deadline) -> MdpSolver:
        """Value iteration; TooLargeError if there are more states than it can solve in these seconds per step."""
        actions, most = len(self.model.actions), math.inf if seconds is None else seconds
        if self.view.counted:
            solver = CountsSolver(
                self.view, self.discount, beta, rule=self.bonus_rule, tolerance=self.tolerance,
                limit=int(min(self.limit, _PAIRS_PER_SECOND * most / actions)), deadline=deadline,
            )  # fmt: skip
            solver.reset(self.belief.probabilities, 0)
            return solver
        if self.view.listed:
            limit = int(min(self.limit, _PAIRS_PER_SECOND * most / actions))
            found = ExactSolver(
                self.view, self.discount, beta, tolerance=self.tolerance, limit=limit,
                numbers=_NUMBERS_PER_SECOND * most, deadline=deadline,
            )  # fmt: skip
            found.reset(self.belief.probabilities, 0)
            return found
        steps = min(_PARTICLE_STEPS, _STEPS_PER_SECOND * most)
        limit = int(min(self.limit, steps / (actions * (len(self.belief.probabilities) - 1))))
        particles = PopulationSolver(self.view, self.discount, beta, tolerance=self.tolerance, limit=limit)
        particles.solve(self.belief.kernel_model, self.view.root(), self.belief.probabilities)
        if seconds is not None:
            particles.otherwise = self._search(beta)  # later particles may reach more states
        return particles

    def _grid_solver(self, beta: float, limit: int) -> GridSolver:
        """Value iteration on a grid, with the values for the prior; TooLargeError if there are more points."""
        found = GridSolver(self.view, self.discount, beta, budget=self.budget, tolerance=self.tolerance, limit=limit)
        self._solve_grid(found)
        return found

    def _solve_grid(self, solver: GridSolver) -> None:
        solver.prepare(self.belief.kernel_model, self.view.root(), self.belief.probabilities, self._deadline)

    def _widening_solver(self, beta: float) -> WideningSolver:
        known = self.belief.kernel_model, self.belief.probabilities
        grid = leaf_grid(self.view, self.discount, *known, self.tolerance, self._deadline)
        self._leaf_shape = "" if grid is None else grid.shape
        leaves = None if grid is None else grid.all_values()
        return WideningSolver(self.view, self.discount, beta, leaves=leaves, **self._search_parameters())

    def _search(self, beta: float) -> UctSolver | WideningSolver:
        many = has_many_likelihoods(self.view, len(self.belief.probabilities) - 1)
        return self._widening_solver(beta) if many and self.solver_name != "uct-tree" else self._uct_solver(beta)

    def _uct_solver(self, beta: float) -> UctSolver:
        tree, parameters = self.solver_name == "uct-tree", self._search_parameters()
        return UctSolver(self.view, self.discount, beta, tree=tree, **parameters)

    def _search_parameters(self) -> dict[str, Any]:
        """What both searches take."""
        exploration = self.model.exploration
        if exploration is None:
            exploration = reward_spread(self.view, deadline=self._deadline) / 2
        horizon = self.model.episode_horizon
        depth = min(horizon, self.search_depth or self.model.search_depth or horizon)
        return {"budget": self.budget, "exploration": exploration, "search_depth": depth}

    def _begin(self, seed: int) -> None:
        self.solver.reset(self.belief.probabilities, seed)

    def _decide(self) -> Decision:
        if isinstance(self.solver, UctSolver | WideningSolver | GridSolver):
            self.solver.budget = self._search_budget()
        found = self.solver.solve(self.belief.kernel_model, self.s, self.belief.probabilities)
        notes = ("the search ran out of space for new states",) if found.full else ()
        return Decision(
            action=choose(found.actions, found.q),
            solution=found,
            action_names=self.model.actions,
            notes=notes + found.notes + self.belief.notes,
        )
