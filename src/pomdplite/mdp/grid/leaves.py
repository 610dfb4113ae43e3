"""How many points of a grid a time suffices for, and the coarse grid that values the leaves of a search."""

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats
from pomdplite.errors import TooLargeError
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.mdp.grid.drawing import work_of_step
from pomdplite.mdp.grid.solver import GridSolver
from pomdplite.model.compiled import KernelView
from pomdplite.model.grid import declared_grid

_WORK_PER_SECOND = 25e6  # (outcome, θ) of steps from grid points, a conservative estimate
_SLOWER = 100  # a model that Python runs
# A grid for leaves: seconds to solve it, its points in all and along a field, and the fewest that are of use.
_LEAF_SECONDS, _LEAF_POINTS, _LEAF_SIDE, _FEWEST_LEAF_SIDE = 2.0, 100_000, 21, 5


def points_in(seconds: float, view: KernelView) -> int:
    """The points for which all actions can be computed in so many seconds."""
    work = view.kernel_model.actions * work_of_step(view)
    return int(_WORK_PER_SECOND * seconds / (work if view.model.compiled_form.compiled else _SLOWER * work))


def leaf_grid(
    view: KernelView, discount: float, kernel_model: KernelModel, b: Floats, tolerance: float, deadline: Deadline
) -> GridSolver | None:  # fmt: skip
    """The mean MDP under the prior b, solved on a coarse version of the model's grid.

    None if the model has a heuristic of its own, or no grid that is solved in about two seconds.
    """
    model, grid = view.model, declared_grid(view.model)
    known = "heuristic" in model.compiled_form.definition.functions
    if grid is None or known or discount >= 1 or kernel_model.evolves:
        return None
    limit = min(_LEAF_POINTS, points_in(_LEAF_SECONDS, view))
    most = min(_LEAF_SIDE, int(limit ** (1 / len(grid.axes(model.state, model.name)))))
    if most < _FEWEST_LEAF_SIDE:
        return None
    solver = GridSolver(
        view, discount, 0.0, budget=Budget(None), tolerance=tolerance, limit=limit, grid=grid.coarser(most)
    )
    try:
        solver.prepare(kernel_model, view.root(), b, deadline)
    except TooLargeError:  # there are too many discrete states
        return None
    return solver
