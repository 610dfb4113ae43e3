"""A solved model as arrays, for files and other processes: its α-vectors, with a fingerprint of the model."""

from hashlib import sha256

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.mdp.momdp import Momdp
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.planners.files import Computed
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.vectors import AlphaVectors, add_vector, allocate_vectors

# The arrays' types; states are given as words, since their numbers may change with the order in which they are found.
KINDS = {"value": "f8", "state": "u8", "action": "i4", "bounds": "f8", "fingerprint": "U"}


def to_arrays(momdp: Momdp, vectors: AlphaVectors, bounds: tuple[float, float]) -> Computed:
    """Vectors and bounds, as `from_arrays` takes them."""
    return {
        "value": vectors.value, "state": momdp.reachable.graph.states[vectors.state], "action": vectors.action,
        "bounds": np.array(bounds), "fingerprint": np.array(fingerprint(momdp)),
    }  # fmt: skip


def fingerprint(momdp: Momdp) -> str:
    """What identifies the model that was solved: its sizes, discount, states and numbers.

    Probabilities and rewards count in single precision: machines differ in the last bits of exp, pow and the like.
    """
    reachable, joint = momdp.reachable, momdp.joint
    graph, distinct, steps = reachable.graph, reachable.distinct, reachable.distinct_count
    numbers = sha256()
    for array in (
        graph.states, graph.first, graph.action, graph.step, graph.next, joint.size, joint.stride, joint.later,
        distinct.component[:steps], distinct.branches[:steps], distinct.outcomes[:steps],
    ):  # fmt: skip
        numbers.update(np.ascontiguousarray(array).tobytes())
    for rounded in (momdp.prior, *(array for step in range(steps) for array in reachable.likelihood(step))):
        numbers.update((rounded.ravel().astype(np.float32) + np.float32(0)).tobytes())  # -0 becomes 0
    discount = planning_discount(momdp.view.model)
    return f"{reachable.states} states, {momdp.values} values of θ, discount {discount!r}, {numbers.hexdigest()}"


def from_arrays(
    arrays: Computed, origin: str, momdp: Momdp, model: GroupedMomdp
) -> tuple[AlphaVectors, tuple[float, float]]:
    """The vectors and bounds; UsageError, which names their origin, if they are not those of this model."""
    _check_model(origin, momdp, str(arrays["fingerprint"]))
    value, words, action, bounds = (arrays[name] for name in ("value", "state", "action", "bounds"))
    count, width = action.size, momdp.reachable.graph.states.shape[1]
    shapes = value.shape, words.shape, action.shape, bounds.shape
    if shapes != ((count, momdp.values), (count, width), (count,), (2,)):
        raise UsageError(f"{origin} is damaged: its α-vectors do not fit its model.")
    numbered = [momdp.reachable.find(state) for state in words]
    if min(numbered, default=-1) < 0 or not 0 <= action.min() <= action.max() < len(momdp.view.model.actions):
        raise UsageError(f"{origin} is damaged: its states or actions are not those of its model.")
    if not (np.isfinite(value).all() and np.isfinite(bounds).all()):
        raise UsageError(f"{origin} is damaged: it has values that are not finite.")
    vectors = allocate_vectors(model, len(value))
    for row, state, number in zip(value, numbered, action, strict=True):
        add_vector(vectors, state, int(number), row)
    if (vectors.newest[1:] < 0).any():
        raise UsageError(f"{origin} is damaged: it has no α-vector for some state.")
    return vectors, (float(bounds[0]), float(bounds[1]))


def _check_model(origin: str, momdp: Momdp, made_for: str) -> None:
    """Raise a UsageError that names the difference if another model was solved."""
    expected = fingerprint(momdp)
    if made_for == expected:
        return
    ours, theirs = expected.rpartition(", ")[0], made_for.rpartition(", ")[0]
    difference = "its numbers differ" if ours == theirs else f"it has {theirs}; {momdp.view.model.name} has {ours}"
    raise UsageError(f"{origin} was made for another model: {difference}.")
