"""Policies of other programs, for models that come from such programs' files: α-vectors in, α-vectors out."""

from pathlib import Path

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import UsageError
from pomdplite.mdp.momdp import Momdp
from pomdplite.model.model import Model
from pomdplite.model.policy_files import StateVectors, policy_files
from pomdplite.planners.files import Computed
from pomdplite.planners.point_based.arrays import fingerprint
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp

_TOLERANCE = 1e-3  # of the range of values: other programs round theirs


def read_policy(path: Path, momdp: Momdp, model: GroupedMomdp) -> Computed:
    """The α-vectors of a policy file, as `from_arrays` takes them; UsageError if they are not for this model."""
    found, reachable = policy_files(momdp.view.model, path).read(path), momdp.reachable
    words = found.state.astype(np.uint64).reshape(-1, 1)  # states of such models have one field, their number
    numbers = np.array([reachable.find(state) for state in words], np.int64)
    kept = numbers >= 0
    found = StateVectors(found.state[kept], found.action[kept], found.value[kept], found.line[kept])
    numbers = numbers[kept]
    missing = np.setdiff1d(np.arange(1, reachable.states), numbers)
    if len(missing):
        state = momdp.view.describe(reachable.graph.states[missing[0]])
        raise UsageError(
            f"{path} has no α-vector with a legal action for x = ({state}), which can be reached in "
            f"{momdp.view.model.name}; it was made for another model."
        )
    _check(path, momdp, model, found, numbers)
    root = reachable.find(momdp.view.root())
    lower = float((found.value[numbers == root] @ momdp.prior).max())
    return {
        "value": found.value, "state": reachable.graph.states[numbers], "action": found.action.astype(np.int32),
        "bounds": np.array([lower, max(lower, float(momdp.prior @ model.corner[root]))]),
        "fingerprint": np.array(fingerprint(momdp)),
    }  # fmt: skip


def write_policy(path: Path, model: Model, computed: Computed) -> None:
    """Write what `to_arrays` gives to a policy file."""
    state = computed["state"][:, 0].astype(np.int64)
    line = np.zeros(len(state), np.int64)
    vectors = StateVectors(state, computed["action"].astype(np.int64), computed["value"], line)
    policy_files(model, path).write(path, vectors)


def _check(path: Path, momdp: Momdp, model: GroupedMomdp, found: StateVectors, numbers: Ints) -> None:
    """Refuse vectors that promise more than an agent that knows θ can earn: they were made for another model."""
    if momdp.view.model.discount == 1:
        return  # planning uses another discount
    possible: Floats = model.corner[numbers]
    excess = found.value - possible
    worst = int(excess.max(axis=1).argmax())
    at = int(excess[worst].argmax())
    if excess[worst, at] > _TOLERANCE * max(1.0, float(np.ptp(model.corner)), float(np.abs(model.corner).max())):
        state = momdp.view.describe(momdp.reachable.graph.states[numbers[worst]])
        raise UsageError(
            f"{path}, line {found.line[worst]}: the α-vector promises {found.value[worst, at]:.6g} in x = ({state}), "
            f"but no policy earns more than {possible[worst, at]:.6g} there in {momdp.view.model.name}; it was made "
            "for another model."
        )
