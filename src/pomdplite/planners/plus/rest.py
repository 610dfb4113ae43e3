"""Where α-vectors have no room for all components of θ: a second part of the model, for after the first.

The first part has the components that matter most, and leaves out the others. So its policies end early: they leave
although there is more to earn. The second part has those others. It is solved from where paths of the first part end,
and what its policies are worth there is a promise to the first part:

    ᾱ(j) = Σ_k b(k) α(j, k)        j: values of components that both parts have, k: of those that only the second has

As long as nothing has been learned of the latter, b is the prior, and ᾱ is an α-vector of the first part: the value of
going on with the second. Backups there then choose when to.
"""

from collections.abc import Callable, Sequence

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.model.hidden_table import product_of
from pomdplite.planners.plus.lite_paths import LitePaths
from pomdplite.planners.plus.model_part import ModelPart
from pomdplite.planners.plus.solver import Ending, Promise
from pomdplite.planners.point_based.solver import SolveProgress
from pomdplite.planners.point_based.vectors import VECTORS

_FIRST_SHARE = 0.4  # of the time, for the first part before there are promises
_REST_SHARE = 0.5  # of the time after that, for the second part
_ENDINGS = 40  # of paths of the first part, from which the second one is solved


def solve_both(
    first: ModelPart, rest: ModelPart, lite: LitePaths, deadline: Deadline, precision: float, solve_trials: int | None,
    progress: Callable[[SolveProgress], None] | None,
) -> list[ModelPart]:  # fmt: skip
    """Solve the first part, the second from where that ends, and the first again with what the second promises.

    The parts that were solved: the first alone if Ctrl-C ends solving before the second is.
    """
    first.begin_solving(lite)
    first.solver.deadline = deadline.until(_FIRST_SHARE)
    first.solver.solve(precision, solve_trials, progress)
    solved = [first]
    if not first.solver.interrupted and _solve_rest(first, rest, deadline, precision, solve_trials):
        solved.append(rest)
        first.solver.deadline = deadline
        first.allow_for(rest)
        first.solver.accept(promises(rest, first), lite)
        first.solver.solve(precision, solve_trials, progress)
    for part in solved:
        part.end_solving()
    return solved


def _solve_rest(
    first: ModelPart, rest: ModelPart, deadline: Deadline, precision: float, solve_trials: int | None
) -> bool:
    """Solve the second part from where paths of the first end; False if Ctrl-C ends that."""
    seconds = None if solve_trials is not None else _REST_SHARE * deadline.left / _ENDINGS
    trials = None if solve_trials is None else max(1, solve_trials // _ENDINGS)
    try:
        rest.begin_solving(None)
        for _ in range(_ENDINGS):
            ending = first.solver.ending()
            b = _joint(first, rest, ending)
            rest.solver.search(ending.state, b, Budget(seconds, trials, deadline.clock), precision)
    except KeyboardInterrupt:
        return False
    rest.solver.return_to_start()
    return True


def _priors(part: ModelPart) -> list[Floats]:
    return [component.prior for component in part.momdp.view.model.hidden.components]


def _joint(first: ModelPart, rest: ModelPart, ending: Ending) -> Floats:
    """The belief at an ending over the components of the second part, with the prior of those that the first lacks."""
    known = ending.b.reshape([len(prior) for c, prior in enumerate(_priors(first)) if c in first.components])
    marginals = _priors(first)
    for axis, component in enumerate(first.components):
        marginals[component] = known.sum(axis=tuple(i for i in range(known.ndim) if i != axis))
    return product_of([marginals[component] for component in rest.components])


def promises(rest: ModelPart, first: ModelPart) -> list[Promise]:
    """The α-vectors of the second part as vectors of the first, without those that others dominate."""
    vectors, priors = rest.solver.vectors, _priors(rest)
    count = int(vectors.counts[VECTORS])
    means = vectors.value[:count].reshape(count, *(len(priors[c]) for c in rest.components))
    for axis in reversed(range(len(rest.components))):
        if rest.components[axis] not in first.components:
            means = np.tensordot(means, priors[rest.components[axis]], axes=(axis + 1, 0))
    shape = [len(priors[c]) for c in first.components]
    common = [size if c in rest.components else 1 for c, size in zip(first.components, shape, strict=True)]
    found = list[Promise]()
    for state in np.unique(vectors.state[:count]):
        here = np.flatnonzero(vectors.state[:count] == state)
        for alpha in here[_undominated(means[here].reshape(len(here), -1))]:
            value = np.broadcast_to(means[alpha].reshape(common), shape).ravel()
            found.append(Promise(int(state), int(vectors.action[alpha]), value))
    return found


def _undominated(rows: Floats) -> Sequence[int]:
    """The rows that no other row reaches everywhere, the largest sums first."""
    kept = list[int]()
    for i in np.argsort(-rows.sum(axis=1), kind="stable"):
        if not any((rows[k] >= rows[i]).all() for k in kept):
            kept.append(int(i))
    return kept
