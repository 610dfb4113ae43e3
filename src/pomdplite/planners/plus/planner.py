"""POMDP-lite plus: better than POMDP-lite where looking ahead pays, because its search updates the belief.

    before the first step:  find α-vectors by backups on paths from b₀ (solver.py)
    in every step:          improve them by paths from b, then a ← argmax_a Q̲(b, a)
                            y, o ← execute a;  b ← τ(b, a, y, o)

POMDP-lite freezes the belief and pays a bonus for changing it. Here the search itself updates the belief, so
information is worth what it earns, and there is no β. That needs the values of every x and θ. Where they are too many,
components of θ are left out; where that does not help, or hidden values cannot be listed, the planner is POMDP-lite.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import PARTICLES, Belief, exact_belief
from pomdplite.errors import NotConvergingError, TooLargeError, UnsuitableError
from pomdplite.mdp.budget import Budget, Deadline, OutOfTimeError
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import Momdp, momdp_form
from pomdplite.mdp.reachable import build
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.mdp.yardsticks import bounds_of_episodes
from pomdplite.model.hidden_table import JOINT_LIMIT
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision
from pomdplite.planners.files import Computed
from pomdplite.planners.plus.lite_paths import LitePaths
from pomdplite.planners.plus.solver import PlusSolver
from pomdplite.planners.point_based.arrays import KINDS, from_arrays, to_arrays
from pomdplite.planners.point_based.decisions import LONGEST_LOOK, look_ahead_decision, vector_decision
from pomdplite.planners.point_based.grouped_momdp import group_outcomes, look_ahead_work
from pomdplite.planners.point_based.solver import SolveProgress, check_limits
from pomdplite.planners.point_based.tree import ROOT
from pomdplite.planners.point_based.vectors import VECTORS
from pomdplite.planners.pomdp_lite import PomdpLite

_MOST_VALUES = 10_000_000  # of x and θ together, for which solving makes headway
_ENOUGH_VALUES = 2_000_000  # if not all components of θ can be kept: with more, each path takes too long
_ENOUGH_SHARE = 0.85  # of what depends on components of θ: if those that can be kept have less, none is left out
_LONGEST_SHARE = 0.5  # of a step's time that looking one step ahead may take
_WORK_PER_SECOND = LONGEST_LOOK / 0.01


class PomdpLitePlus(Planner):
    """Search that updates the belief: α-vectors found before the first step, and improved in every step.

    time, sims    budget per step: seconds (0.1 by default) or paths
    solve_time    seconds to solve before the first step, at most; solving ends earlier once it no longer helps
    solve_trials  paths to sample before the first step, instead of solve_time: the result does not depend on the clock
    precision     a belief whose bounds are this close needs no search
    memory        gigabytes for solving; POMDPLITE_MEMORY limits it, too
    particles     number of particles, for models whose hidden values cannot be listed

    With too many values of x and θ, it plans with the components of θ that matter most to POMDP-lite, and without the
    actions that depend on others. Models whose hidden values cannot be listed are left to POMDP-lite, as are those that
    have too many values even so.
    """

    title: ClassVar[str] = "pomdp-lite-plus"
    computed_kinds: ClassVar[Mapping[str, str]] = {**KINDS, "components": "i4"}

    belief: Belief
    discount: float
    progress: Callable[[SolveProgress], None] | None = None  # called about once a second while solving

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        solve_time: float = 60.0,
        solve_trials: int | None = None,
        precision: float = 0.001,
        memory: float = 4.0,
        particles: int = PARTICLES,
    ) -> None:
        super().__init__(model, solve_time)
        check_limits(precision, memory, solve_trials)
        self.budget: Budget = Budget.of(time, sims)
        self.time, self.sims, self.solve_trials = time, sims, solve_trials
        self.precision, self.memory, self.particles = precision, memory, particles
        self._base: PomdpLite | None = None  # what decides if there are too many values
        self._reason = ""  # for that
        self._notes: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "time": self.time, "sims": self.sims, "solve_time": self.solve_time, "solve_trials": self.solve_trials,
            "precision": self.precision, "memory": self.memory, "particles": self.particles,
        }  # fmt: skip

    @property
    def value_bounds(self) -> tuple[float, float] | None:
        """V̲ and V̄ before the first step, for episodes that end at the model's horizon."""
        if self._base is not None or self._left_out:
            return None
        return bounds_of_episodes(self.momdp, self.discount, self._bounds, self._grouped.corner)

    @property
    def choices(self) -> tuple[str, ...]:
        """The number of α-vectors and the budget; or why POMDP-lite decides, and its choices."""
        if self._base is not None:
            return (f"decides as pomdp-lite, since {self._reason}", *self._base.choices)
        count, total = len(self.momdp.components), len(self.model.hidden.components)
        over = f" over {count} of the {total} components of θ, those that matter most" if self._left_out else ""
        return (f"{len(self._vectors.value):,} α-vectors{over}", *super().choices)

    @property
    def _preparation_limit(self) -> float:
        return math.inf if self._given or self.solve_trials is not None else self.solve_time

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        try:
            self._prepare_vectors()
        except OutOfTimeError:
            raise
        except (TooLargeError, NotConvergingError) as why:
            self._reason = str(why).removeprefix(f"{self.model.name}: ").rstrip(".")
            self._prepare_base()

    def _prepare_vectors(self) -> None:
        self._refuse_unlisted()
        lite = LitePaths(self)
        self.momdp = self._momdp(lite)
        self.discount = planning_discount(self.model)
        corner = full_information_values(
            self.momdp, self.discount, memory=int(self.memory * 1e9), deadline=self._deadline
        )
        self._grouped = group_outcomes(self.momdp, corner, self.discount, merge=True)
        if self._given:
            known, self._bounds = from_arrays(self._given, self._given_by, self.momdp, self._grouped)
            self.solver = PlusSolver(self.momdp, self._grouped, self.memory, self._deadline, known)
            self._given = {}
        else:
            self.solver = PlusSolver(self.momdp, self._grouped, self.memory, self._deadline, lite=lite)
            self.solver.solve(self.precision, self.solve_trials, self.progress)
            lower, upper = self.solver.bounds
            if self._left_out and lower < lite.earned:
                raise TooLargeError(f"leaving out {self._left_out} components of θ costs more than it earns.")
            root = self.momdp.reachable.find(self.momdp.view.root())
            self._bounds = lower, float(self.momdp.prior @ corner[root]) if self._grouped.merged else upper
        if self.solver.out_of_memory:
            self._notes = (f"solving ended early: α-vectors filled the {self.memory:g} GB allowed",)
        self._vectors = self.solver.finish()
        self._looks = np.bincount(self._vectors.state, minlength=self.momdp.reachable.states)
        self._belief = self.belief = exact_belief(self.view)

    def _refuse_unlisted(self) -> None:
        if not isinstance(self.model.hidden, Hidden):
            raise TooLargeError("its hidden values cannot be listed.")

    def _momdp(self, lite: LitePaths) -> Momdp:
        """The model with all components of θ, or with those that matter most if they have too many values together."""
        if self._given:
            return self._form(tuple(int(component) for component in self._given["components"]))
        every = tuple(range(len(self.model.hidden.components)))
        try:
            return self._form(every)
        except OutOfTimeError:
            raise
        except TooLargeError:
            view = self.model.compiled_form.kernel_view().present_form()
            if view.table.blocks == 1:
                raise
            states = build(view, view.root(), limit=_ENOUGH_VALUES // 2, deadline=self._deadline).states
            kept, share = lite.most_at_stake(min(JOINT_LIMIT, _ENOUGH_VALUES // states))
            if share < _ENOUGH_SHARE:
                raise
        return self._form(kept)

    def _form(self, components: tuple[int, ...]) -> Momdp:
        """The model with these components of θ; TooLargeError if it has more values than solving can cope with."""
        values = math.prod(len(self.model.hidden.components[component]) for component in components)
        if values > JOINT_LIMIT:
            raise TooLargeError(f"the hidden parameter has {values:,} joint values, too many for α-vectors.")
        return momdp_form(self.model, limit=_MOST_VALUES // values, components=components, deadline=self._deadline)

    @property
    def _left_out(self) -> int:
        """The number of components of θ that are left out."""
        return len(self.model.hidden.components) - len(self.momdp.components)

    def _prepare_base(self) -> None:
        base = PomdpLite(
            self.model, time=self.time, sims=self.sims, particles=self.particles, solve_time=self.solve_time
        )
        base.prepare_for(self, Deadline(self.solve_time, self.clock))
        self._base, self.stand_in = base, base.title
        self.view, self.belief, self.deterministic = base.view, base.belief, base.deterministic

    def _begin(self, seed: int) -> None:
        if self._base is not None:
            self._base._begin(seed)
        else:
            self.solver.begin(seed)

    def _computed(self) -> Computed:
        if self._base is not None or not self._ready:
            return self._given
        kept = np.array(self.momdp.components, np.int32)
        return {**to_arrays(self.momdp, self._vectors, self._bounds), "components": kept}

    def _decide(self) -> Decision:
        if self._base is not None:
            return self._base_decision(self._base)
        solver, b = self.solver, self._belief.joint(self.momdp.components)
        state = self.momdp.reachable.find(self.s[: self.model.state.words])
        if state < 0:
            raise UnsuitableError(
                f"{self.model.name}: x = ({self.view.describe(self.s)}) cannot be reached in the model, so "
                f"{self.title} has no α-vectors for it."
            )
        budget = self._search_budget()
        if look_ahead_work(self._grouped, self._looks, state) > self._longest_look(budget):
            found = vector_decision(self.momdp, self._grouped, self._vectors, state, b, self._said())
        else:
            solver.search(state, b, budget, self.precision)
            root = int(solver.tree.counts[ROOT])
            found = look_ahead_decision(
                self.momdp, self._grouped, solver.tree, solver.scratch, root, self._said(), solver.trials
            )
        return replace(found, notes=self._notes, bounds=None if self._left_out else found.bounds)

    def _longest_look(self, budget: Budget) -> float:
        """The work that looking one step ahead may take."""
        allowed = 0.0 if budget.seconds is None else _LONGEST_SHARE * budget.seconds * _WORK_PER_SECOND
        return max(LONGEST_LOOK, allowed)

    def _said(self) -> str:
        """The method, for people."""
        return f"{int(self.solver.vectors.counts[VECTORS]):,} α-vectors"

    def _base_decision(self, base: PomdpLite) -> Decision:
        """What POMDP-lite decides; it shares the belief."""
        base.budget, base._update_seconds, base._x = self.budget, self._update_seconds, self._x
        return base._decide()
