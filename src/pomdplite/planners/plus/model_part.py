"""A part of the model: some components of θ, without the actions that depend on others, and its α-vectors."""

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.decision import Decision
from pomdplite.planners.files import Computed
from pomdplite.planners.plus.lite_paths import LitePaths
from pomdplite.planners.plus.solver import PlusSolver
from pomdplite.planners.point_based.arrays import from_arrays, to_arrays
from pomdplite.planners.point_based.decisions import LONGEST_LOOK, look_ahead_decision, vector_decision
from pomdplite.planners.point_based.grouped_momdp import group_outcomes, look_ahead_work
from pomdplite.planners.point_based.tree import ROOT
from pomdplite.planners.point_based.vectors import VECTORS

_LONGEST_SHARE = 0.5  # of a step's time that looking one step ahead may take
_WORK_PER_SECOND = LONGEST_LOOK / 0.01


class ModelPart:
    """Solves for some components of θ, and decides by what it has found. The whole model is a part, too."""

    bounds: tuple[float, float]  # V̲ and V̄ before the first step

    def __init__(self, momdp: Momdp, discount: float, memory: float, deadline: Deadline) -> None:
        self.momdp, self._memory, self._deadline = momdp, memory, deadline
        corner = full_information_values(momdp, discount, memory=int(memory * 1e9), deadline=deadline)
        self.model = group_outcomes(momdp, corner, discount, merge=True)

    @property
    def components(self) -> tuple[int, ...]:
        """The numbers of its components of θ."""
        return self.momdp.components

    def begin_solving(self, lite: LitePaths | None) -> None:
        """Make a solver that knows the simplest policies and, if given, POMDP-lite's paths."""
        self.solver = PlusSolver(self.momdp, self.model, self._memory, self._deadline, lite=lite)

    def end_solving(self) -> None:
        """Keep what was found for all episodes."""
        lower, upper = self.solver.bounds
        root = self.momdp.reachable.find(self.momdp.view.root())
        known = float(self.momdp.prior @ self.model.corner[root])
        self.bounds = lower, known if self.model.merged else upper
        self._finish()

    def use(self, arrays: Computed, origin: str, own: int | None = None) -> None:
        """Take over what `arrays` has given before; if only the first vectors rely on no promise, `own` of them."""
        known, self.bounds = from_arrays(arrays, origin, self.momdp, self.model)
        self.solver = PlusSolver(self.momdp, self.model, self._memory, self._deadline, known)
        if own is not None and not 1 <= own <= len(known.value):
            raise UsageError(f"{origin} is damaged: it has {len(known.value)} α-vectors, of which {own} are its own.")
        self.solver.own = own
        self._finish()

    def _finish(self) -> None:
        self.vectors = self.solver.finish()
        self._looks = np.bincount(self.vectors.state, minlength=self.momdp.reachable.states)

    def arrays(self) -> Computed:
        """What `use` takes."""
        return to_arrays(self.momdp, self.vectors, self.bounds)

    def allow_for(self, rest: "ModelPart") -> None:
        """Raise V̄ by what another part of the model may add: what its θ is worth to an agent that knows it."""
        corner = rest.model.corner
        self.model.corner[:] += (corner @ rest.momdp.prior - corner.min(axis=1))[:, None]

    def lower(self, state: int, b: Floats) -> float:
        """V̲(x, b), by the present α-vectors."""
        vectors = self.solver.vectors
        here = np.flatnonzero(vectors.state[: vectors.counts[VECTORS]] == state)
        return float((vectors.value[here] @ b).max())

    def decide(self, state: int, b: Floats, budget: Budget, precision: float) -> Decision:
        """Search from the belief b in x, and take the action with the highest Q̲."""
        solver = self.solver
        if look_ahead_work(self.model, self._looks, state) > _longest_look(budget):
            return vector_decision(self.momdp, self.model, self.vectors, state, b, self._said())
        solver.search(state, b, budget, precision)
        root = int(solver.tree.counts[ROOT])
        return look_ahead_decision(
            self.momdp, self.model, solver.tree, solver.scratch, root, self._said(), solver.trials
        )

    def _said(self) -> str:
        """The method, for people."""
        return f"{int(self.solver.vectors.counts[VECTORS]):,} α-vectors"


def _longest_look(budget: Budget) -> float:
    """The work that looking one step ahead may take."""
    allowed = 0.0 if budget.seconds is None else _LONGEST_SHARE * budget.seconds * _WORK_PER_SECOND
    return max(LONGEST_LOOK, allowed)
