"""POMDP-lite plus: better than POMDP-lite where looking ahead pays, because its search updates the belief.

    before the first step:  find α-vectors by backups on paths from b₀ (solver.py)
    in every step:          improve them by paths from b, then a ← argmax_a Q̲(b, a)
                            y, o ← execute a;  b ← τ(b, a, y, o)

POMDP-lite freezes the belief and pays a bonus for changing it. Here the search itself updates the belief, so
information is worth what it earns, and there is no β. That needs the values of every x and θ. Where they are too many,
there are two parts of the model, each with some components of θ (rest.py), and the one with the higher V̲ decides. Where
that does not help, or hidden values cannot be listed, the planner is POMDP-lite.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import PARTICLES, Belief, exact_belief
from pomdplite.compile.jit import Floats
from pomdplite.errors import NotConvergingError, TooLargeError, UnsuitableError
from pomdplite.mdp.budget import Budget, Deadline, OutOfTimeError
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
from pomdplite.planners.plus.model_part import ModelPart
from pomdplite.planners.plus.rest import solve_both
from pomdplite.planners.point_based.arrays import KINDS
from pomdplite.planners.point_based.policies import write_policy
from pomdplite.planners.point_based.solver import SolveProgress, check_limits
from pomdplite.planners.pomdp_lite import PomdpLite

_MOST_VALUES = 10_000_000  # of x and θ together, for which solving makes headway
_ENOUGH_VALUES = 2_000_000  # if not all components of θ can be kept: with more, each path takes too long
_ENOUGH_SHARE = 0.85  # of what depends on components of θ: if those that can be kept have less, none is left out
_SMALLER = 4  # times fewer joint values of those that matter later
_SAME = 1e-6  # the relative difference up to which values are the same, and probabilities
_REST = "rest_"  # how the names of the arrays of the second part begin


class PomdpLitePlus(Planner):
    """Search that updates the belief: α-vectors found before the first step, and improved in every step.

    time, sims    budget per step: seconds (0.1 by default) or paths
    solve_time    seconds to solve before the first step, at most; solving ends earlier once it no longer helps
    solve_trials  paths to sample before the first step, instead of solve_time: the result does not depend on the clock
    precision     a belief whose bounds are this close needs no search
    memory        gigabytes for solving; POMDPLITE_MEMORY limits it, too
    particles     number of particles, for models whose hidden values cannot be listed

    With too many values of x and θ, it plans with the components of θ that matter most to POMDP-lite, and with others
    for later. Models whose hidden values cannot be listed are left to POMDP-lite, as are those that have too many
    values even so.
    """

    title: ClassVar[str] = "pomdp-lite-plus"
    computed_kinds: ClassVar[Mapping[str, str]] = {
        **KINDS, "components": "i4", "own": "i8", **{f"{_REST}{name}": kind for name, kind in KINDS.items()},
        f"{_REST}components": "i4",
    }  # fmt: skip

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
        first = self._parts[0]
        return bounds_of_episodes(self.momdp, self.discount, first.bounds, first.model.corner)

    @property
    def choices(self) -> tuple[str, ...]:
        """The number of α-vectors and the budget; or why POMDP-lite decides, and its choices."""
        if self._base is not None:
            return (f"decides as pomdp-lite, since {self._reason}", *self._base.choices)
        count, total = len(self.momdp.components), len(self.model.hidden.components)
        over = f" over {count} of the {total} components of θ, those that matter most" if self._left_out else ""
        for part in self._parts[1:]:
            over += f", and {len(part.vectors.value):,} over {len(part.components)} for later"
        return (f"{len(self._parts[0].vectors.value):,} α-vectors{over}", *super().choices)

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
        self.discount = planning_discount(self.model)
        self._parts = self._given_parts() if self._given else self._solved_parts(lite)
        if self._parts[0].solver.out_of_memory:
            self._notes = (f"solving ended early: α-vectors filled the {self.memory:g} GB allowed",)
        self._belief = self.belief = exact_belief(self.view)

    def _solved_parts(self, lite: LitePaths) -> list[ModelPart]:
        parts = self._make_parts(self._momdps(lite))
        if len(parts) > 1:
            first, rest = parts
            parts = solve_both(first, rest, lite, self._deadline, self.precision, self.solve_trials, self.progress)
        else:
            parts[0].begin_solving(lite)
            parts[0].solver.solve(self.precision, self.solve_trials, self.progress)
            parts[0].end_solving()
        left_out = len(self.model.hidden.components) - len(parts[0].components)
        if left_out and parts[0].bounds[0] < lite.earned:
            raise TooLargeError(f"leaving out {left_out} components of θ costs more than it earns.")
        return parts

    def _given_parts(self) -> list[ModelPart]:
        given, origin = self._given, self._given_by
        names = [name for name in ("", _REST) if given[f"{name}components"].size]
        parts = self._make_parts([self._form(tuple(map(int, given[f"{name}components"]))) for name in names])
        if len(parts) > 1:
            parts[0].allow_for(parts[1])
        for part, name in zip(parts, names, strict=True):
            own = int(given["own"]) if len(parts) > 1 and part is parts[0] else None
            part.use({kind: given[f"{name}{kind}"] for kind in KINDS}, origin, own)
        self._given = {}
        return parts

    def _make_parts(self, momdps: list[Momdp]) -> list[ModelPart]:
        return [ModelPart(momdp, self.discount, self.memory / len(momdps), self._deadline) for momdp in momdps]

    def _refuse_unlisted(self) -> None:
        if not isinstance(self.model.hidden, Hidden):
            raise TooLargeError("its hidden values cannot be listed.")

    def _momdps(self, lite: LitePaths) -> list[Momdp]:
        """The model with all components of θ; or, if they have too many values together, with those that matter most,
        and with those that matter later."""
        try:
            return [self._form(tuple(range(len(self.model.hidden.components))))]
        except OutOfTimeError:
            raise
        except TooLargeError:
            view = self.model.compiled_form.kernel_view().present_form()
            if view.table.blocks == 1:
                raise
            states = build(view, view.root(), limit=_ENOUGH_VALUES // 2, deadline=self._deadline).states
            values = min(JOINT_LIMIT, _ENOUGH_VALUES // states)
            kept = lite.most_at_stake(values)
            if lite.share(kept) < _ENOUGH_SHARE:
                raise
            later = lite.others_at_stake(kept, values // _SMALLER)
        return [self._form(components) for components in (kept, later) if components]

    def _form(self, components: tuple[int, ...]) -> Momdp:
        """The model with these components of θ; TooLargeError if it has more values than solving can cope with."""
        values = math.prod(len(self.model.hidden.components[component]) for component in components)
        if values > JOINT_LIMIT:
            raise TooLargeError(f"the hidden parameter has {values:,} joint values, too many for α-vectors.")
        return momdp_form(self.model, limit=_MOST_VALUES // values, components=components, deadline=self._deadline)

    @property
    def momdp(self) -> Momdp:
        """The model in mixed-observability form, with the components of θ that matter most if not all have room."""
        return self._parts[0].momdp

    @property
    def _left_out(self) -> int:
        """The number of components of θ that are left out of it."""
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
            for part in self._parts:
                part.solver.begin(seed)

    def _computed(self) -> Computed:
        if self._base is not None or not self._ready:
            return self._given
        computed: Computed = {name: np.zeros(0, kind) for name, kind in self.computed_kinds.items()}
        computed["own"] = np.array(self._parts[0].solver.own or 0)
        computed[f"{_REST}fingerprint"] = np.array("")
        for name, part in zip(("", _REST), self._parts, strict=False):
            arrays = {**part.arrays(), "components": np.array(part.components, np.int32)}
            computed |= {f"{name}{kind}": array for kind, array in arrays.items()}
        return computed

    def _save_policy(self, path: Path) -> None:
        if self._base is not None:
            raise UnsuitableError(f"{path}: {self.choices[0]}, and has no α-vectors to write.")
        if self._left_out:
            raise UnsuitableError(f"{path}: {self.choices[0]}, and a .policy file needs all of them; use sarsop.")
        write_policy(path, self.model, self._computed())

    def _decide(self) -> Decision:
        if self._base is not None:
            return self._base_decision(self._base)
        state = self.momdp.reachable.find(self.s[: self.model.state.words])
        if state < 0:
            raise UnsuitableError(
                f"{self.model.name}: x = ({self.view.describe(self.s)}) cannot be reached in the model, so "
                f"{self.title} has no α-vectors for it."
            )
        beliefs = [self._belief.joint(part.components) for part in self._parts]
        chosen = self._best_parts(state, beliefs)
        budget = self._search_budget().scaled(1 / len(chosen))
        found = [self._parts[i].decide(state, beliefs[i], budget, self.precision) for i in chosen]
        best = max(found, key=lambda decision: float(decision.solution.q.max()))
        return replace(best, notes=self._notes, bounds=None if self._left_out else best.bounds)

    def _best_parts(self, state: int, beliefs: list[Floats]) -> list[int]:
        """The part whose V̲ is highest; both if the first one's is nothing but what the second has promised."""
        if len(self._parts) == 1:
            return [0]
        first = self._parts[0]
        marginals, components = self._belief.marginals(), self.model.hidden.components
        others = (i for i in range(len(components)) if i not in first.components)
        if not all(np.allclose(marginals[i], components[i].prior, rtol=0, atol=_SAME) for i in others):
            first.solver.break_promises()
        lower = [part.lower(state, b) for part, b in zip(self._parts, beliefs, strict=True)]
        return [i for i, value in enumerate(lower) if value >= max(lower) - _SAME * max(1.0, abs(max(lower)))]

    def _base_decision(self, base: PomdpLite) -> Decision:
        """What POMDP-lite decides; it shares the belief."""
        base.budget, base._update_seconds, base._x = self.budget, self._update_seconds, self._x
        return base._decide()
