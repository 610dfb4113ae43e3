"""Policy files: the α-vectors of a solved model, with a fingerprint of the model."""

import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.sarsop.grouped_momdp import GroupedMomdp
from pomdplite.planners.sarsop.vectors import AlphaVectors, add_vector, allocate_vectors

_FORMAT = "pomdplite sarsop 1"


def save(path: Path, momdp: Momdp, vectors: AlphaVectors, bounds: tuple[float, float]) -> None:
    """Write vectors and bounds to a file that `load` reads."""
    with path.open("wb") as file:
        np.savez_compressed(
            file, format=np.array(_FORMAT), model=np.array(fingerprint(momdp)), value=vectors.value,
            state=momdp.reachable.graph.states[vectors.state], action=vectors.action, bounds=np.array(bounds),
        )  # fmt: skip


def fingerprint(momdp: Momdp) -> str:
    """What identifies the model that a policy was made for: its sizes, discount, states and numbers."""
    reachable, joint = momdp.reachable, momdp.joint
    graph, distinct, steps = reachable.graph, reachable.distinct, reachable.distinct_count
    numbers = sha256()
    for array in (
        graph.states, graph.first, graph.action, graph.step, graph.next, joint.size, joint.stride, joint.later,
        distinct.component[:steps], distinct.branches[:steps], distinct.outcomes[:steps], momdp.prior,
    ):  # fmt: skip
        numbers.update(np.ascontiguousarray(array).tobytes())
    for step in range(steps):
        numbers.update(np.concatenate([array.ravel() for array in reachable.likelihood(step)]).tobytes())
    discount = momdp.view.model.discount
    return f"{reachable.states} states, {momdp.values} values of θ, discount {discount!r}, {numbers.hexdigest()}"


def load(path: Path, momdp: Momdp, model: GroupedMomdp) -> tuple[AlphaVectors, tuple[float, float]]:
    """The vectors and bounds in a file; UsageError if it is missing, damaged or made for another model."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            version, made_for = str(file["format"]), str(file["model"])
            value, words, action, bounds = (file[name] for name in ("value", "state", "action", "bounds"))
    except FileNotFoundError:
        raise UsageError(f"there is no policy file {path}.") from None
    except (OSError, TypeError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        raise UsageError(f"{path} is not a SARSOP policy file, or it is damaged.") from None
    if version != _FORMAT:
        raise UsageError(f"{path} is a policy file of another version: {version!r}, not {_FORMAT!r}.")
    _check_model(path, momdp, made_for)
    shapes = (value.ndim, value.shape[1:], words.shape, action.shape, bounds.shape)
    width = momdp.reachable.graph.states.shape[1]
    if shapes != (2, (momdp.values,), (len(value), width), (len(value),), (2,)) or not np.isfinite(value).all():
        raise UsageError(f"{path} is damaged: its α-vectors do not fit its model.")
    vectors = allocate_vectors(model, len(value))
    for row, state, number in zip(value, words, action, strict=True):
        add_vector(vectors, momdp.reachable.find(state), int(number), row)
    if (vectors.newest[1:] < 0).any():
        raise UsageError(f"{path} is damaged: it has no α-vector for some state.")
    return vectors, (float(bounds[0]), float(bounds[1]))


def _check_model(path: Path, momdp: Momdp, made_for: str) -> None:
    """Raise a UsageError that names the difference if the policy was made for another model."""
    expected = fingerprint(momdp)
    if made_for == expected:
        return
    ours, theirs = expected.rpartition(", ")[0], made_for.rpartition(", ")[0]
    difference = "its numbers differ" if ours == theirs else f"it has {theirs}; {momdp.view.model.name} has {ours}"
    raise UsageError(f"{path} is the policy of another model: {difference}.")
