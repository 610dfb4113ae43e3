"""SARSOP as a planner: solves the model once, offline, then acts by looking one step ahead with its bounds."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import ExactBelief, exact_belief
from pomdplite.compile.jit import Floats
from pomdplite.errors import UnsuitableError, UsageError, shown
from pomdplite.mdp import memory as memory_limit
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import momdp_form
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.mdp.yardsticks import bounds_of_episodes
from pomdplite.model.model import Model
from pomdplite.model.policy_files import is_policy_file
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision
from pomdplite.planners.files import Computed, read_computed, read_planner
from pomdplite.planners.point_based.arrays import KINDS, from_arrays, to_arrays
from pomdplite.planners.point_based.bounds import allocate_scratch, look_ahead, update_lower, update_upper
from pomdplite.planners.point_based.decisions import LONGEST_LOOK, look_ahead_decision, vector_decision
from pomdplite.planners.point_based.grouped_momdp import group_outcomes, look_ahead_work
from pomdplite.planners.point_based.policies import read_policy, write_policy
from pomdplite.planners.point_based.solver import SolveProgress, check_limits
from pomdplite.planners.point_based.tree import allocate_tree, expand, points_of_states, put_last
from pomdplite.planners.sarsop.solver import SarsopSolver


class Sarsop(Planner):
    """Anytime offline planning, with bounds on the optimal value.

    solve_time    seconds to solve, once, before the first step, with all that precedes it
    precision     stop when the bounds at the root are this close
    solve_trials  paths to sample, instead of solve_time: the result then does not depend on the clock
    policy        a file that `save` wrote, or another program's .policy file, to act on instead of solving
    memory        gigabytes that solving, or a policy file, may use; POMDPLITE_MEMORY limits it, too

    Decisions look one step ahead with the bounds. Where a state has so many outcomes that this would take long, they
    take the action of the α-vector that is best at the belief, whose value the policy reaches as well.
    """

    title: ClassVar[str] = "sarsop"
    computed_kinds: ClassVar[Mapping[str, str]] = KINDS
    deterministic = True

    belief: ExactBelief
    discount: float
    progress: Callable[[SolveProgress], None] | None = None  # called about once a second while solving

    def __init__(
        self,
        model: Model,
        *,
        solve_time: float = 60.0,
        precision: float = 0.001,
        solve_trials: int | None = None,
        policy: str | None = None,
        memory: float = 2.0,
    ) -> None:
        super().__init__(model, solve_time)
        check_limits(precision, memory, solve_trials)
        self.precision, self.solve_trials = precision, solve_trials
        self.policy, self.memory = policy, memory
        self._notes: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """When to stop solving, the policy file, and the memory."""
        return {
            "solve_time": self.solve_time, "precision": self.precision, "solve_trials": self.solve_trials,
            "policy": self.policy, "memory": self.memory,
        }  # fmt: skip

    @property
    def bounds(self) -> tuple[float, float]:
        """V̲ and V̄ at the initial state and the prior."""
        self.prepare()
        return self._bounds

    @property
    def value_bounds(self) -> tuple[float, float]:
        """V̲ and V̄, for episodes that end at the model's horizon."""
        return bounds_of_episodes(self.momdp, self.discount, self._bounds, self._grouped.corner)

    @property
    def vectors(self) -> Floats:
        """The α-vectors, [vector, joint value of θ]."""
        self.prepare()
        return self._vectors.value

    @property
    def _preparation_limit(self) -> float:
        solved = self.policy is not None or bool(self._given)
        return math.inf if solved or self.solve_trials is not None else self.solve_time

    def _prepare(self) -> None:
        self.momdp = momdp_form(self.model, deadline=self._deadline)
        self.view = self.model.compiled_form.kernel_view()
        self.belief = exact_belief(self.view)
        self.discount = planning_discount(self.model)
        corner = full_information_values(
            self.momdp, self.discount, memory=int(self.memory * 1e9), deadline=self._deadline
        )
        self._grouped = group_outcomes(self.momdp, corner, self.discount)
        self._tree = allocate_tree(self._grouped, 1)
        if self.policy is not None and not self._given:
            self._given, self._given_by = self._read(Path(self.policy)), self.policy
        if self._given:
            self._vectors, self._bounds = from_arrays(self._given, self._given_by, self.momdp, self._grouped)
            self._given = {}
        else:
            self._solve()
        self._looks = np.bincount(self._vectors.state, minlength=self.momdp.reachable.states) + points_of_states(
            self._tree
        )
        self._scratch = allocate_scratch(self._grouped, 1)

    def _read(self, path: Path) -> Computed:
        """The arrays in the policy file."""
        if is_policy_file(path):
            return read_policy(path, self.momdp, self._grouped)
        title = read_planner(path, self.model).title
        if title != self.title:
            raise UsageError(f"{path} holds the planner {shown(title)}, not {self.title}; use load_planner for it.")
        return read_computed(path, self.computed_kinds, min(1e9 * self.memory, memory_limit.limit()))

    def _solve(self) -> None:
        solver = SarsopSolver(self.momdp, self._grouped, self.memory, self._deadline)
        solver.solve(self.precision, self.solve_trials, self.progress)
        self._bounds = solver.bounds
        self._vectors, self._tree = solver.result()
        if solver.out_of_memory:
            self._notes = (f"solving ended early: α-vectors filled the {self.memory:g} GB allowed",)

    def _computed(self) -> Computed:
        return to_arrays(self.momdp, self._vectors, self._bounds) if self._ready else self._given

    def _save_policy(self, path: Path) -> None:
        write_policy(path, self.model, self._computed())

    def _decide(self) -> Decision:
        model, tree, scratch, b = self._grouped, self._tree, self._scratch, self.belief.joint()
        state = self.momdp.reachable.find(self.s[: self.model.state.words])
        if state < 0:
            raise UnsuitableError(
                f"{self.model.name}: x = ({self.view.describe(self.s)}) cannot be reached in the model, so SARSOP has "
                "no α-vectors for it."
            )
        solver = f"SARSOP, {len(self._vectors.value):,} α-vectors"
        if look_ahead_work(model, self._looks, state) > LONGEST_LOOK:
            decision = vector_decision(self.momdp, model, self._vectors, state, b, solver)
        else:
            node = put_last(model, tree, state, b)
            expand(model, tree, node, scratch.after, scratch.w, scratch.marginals, scratch.part)
            update_lower(model, self._vectors, tree, scratch, node)
            update_upper(model, tree, scratch, node)
            look_ahead(model, tree, scratch, node)
            decision = look_ahead_decision(self.momdp, model, tree, scratch, node, solver)
        return replace(decision, notes=self._notes)
