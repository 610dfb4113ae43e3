"""Policy files: the α-vectors of a solved model, with a fingerprint of the model."""

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pomdplite.errors import UsageError
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.vectors import AlphaVectors, add_vector, allocate_vectors

_FAMILY = "pomdplite sarsop"
_FORMAT = f"{_FAMILY} 1"
_SMALL = 10_000  # bytes: more than the entries `format` and `model` need
_KINDS = {"format": "U", "model": "U", "value": "f8", "state": "u8", "action": "i4", "bounds": "f8"}  # NumPy's dtypes
# What reading a damaged archive can raise: RuntimeError if it is encrypted, MemoryError and RecursionError if a header
# is nested too deeply.
_DAMAGED = (
    OSError, TypeError, ValueError, KeyError, EOFError, RuntimeError, MemoryError, struct.error, zipfile.BadZipFile,
    zlib.error, lzma.LZMAError, tokenize.TokenError,
)  # fmt: skip


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


def is_policy(path: Path) -> bool:
    """Whether a file is a policy, of this version or another."""
    try:
        with zipfile.ZipFile(path) as archive:
            return str(_array(archive, "format", _SMALL)).startswith(_FAMILY)
    except _DAMAGED:
        return False


def load(path: Path, momdp: Momdp, model: GroupedMomdp, memory: float) -> tuple[AlphaVectors, tuple[float, float]]:
    """The vectors and bounds in a file; UsageError if it is missing, damaged, larger than `memory` (in gigabytes) or
    made for another model.
    """
    if not path.is_file():
        raise UsageError(f"there is no policy file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            version, made_for = (str(_array(archive, name, _SMALL)) for name in ("format", "model"))
            if version != _FORMAT:
                raise UsageError(f"{path} is a policy file of another version: {version!r}, not {_FORMAT!r}.")
            _check_model(path, momdp, made_for)
            size = sum(archive.getinfo(f"{name}.npy").file_size for name in _KINDS)
            if size > memory * 1e9:
                raise UsageError(f"{path} holds {size / 1e9:.1f} GB, more than memory = {memory:g} allows.")
            value, words, action, bounds = (_array(archive, n, size) for n in ("value", "state", "action", "bounds"))
    except UsageError:
        raise
    except _DAMAGED:
        raise UsageError(f"{path} is not a SARSOP policy file, or it is damaged.") from None
    count, width = action.size, momdp.reachable.graph.states.shape[1]
    shapes = value.shape, words.shape, action.shape, bounds.shape
    if shapes != ((count, momdp.values), (count, width), (count,), (2,)):
        raise UsageError(f"{path} is damaged: its α-vectors do not fit its model.")
    numbered = [momdp.reachable.find(state) for state in words]
    if min(numbered, default=-1) < 0 or not 0 <= action.min() <= action.max() < len(momdp.view.model.actions):
        raise UsageError(f"{path} is damaged: its states or actions are not those of its model.")
    if not (np.isfinite(value).all() and np.isfinite(bounds).all()):
        raise UsageError(f"{path} is damaged: it has values that are not finite.")
    vectors = allocate_vectors(model, len(value))
    for row, state, number in zip(value, numbered, action, strict=True):
        add_vector(vectors, state, int(number), row)
    if (vectors.newest[1:] < 0).any():
        raise UsageError(f"{path} is damaged: it has no α-vector for some state.")
    return vectors, (float(bounds[0]), float(bounds[1]))


def _array(archive: zipfile.ZipFile, name: str, limit: int) -> NDArray[Any]:
    """An array of the archive; its size is checked before it is unpacked, since a small file may unpack to a huge one.

    np.load would allocate whatever the array's header says.
    """
    size = archive.getinfo(f"{name}.npy").file_size
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, in_fortran_order, kind = read_header(file)
        count = math.prod(shape)
        if size > limit or not _fits(kind, _KINDS[name]) or kind.itemsize * count != size - file.tell():
            raise ValueError(f"{name} is not what its header says")
        data = np.frombuffer(file.read(kind.itemsize * count), kind, count)
    return data.reshape(shape, order="F" if in_fortran_order else "C")


def _fits(kind: np.dtype[Any], wanted: str) -> bool:
    return kind.kind == "U" if wanted == "U" else kind == np.dtype(wanted)


def _check_model(path: Path, momdp: Momdp, made_for: str) -> None:
    """Raise a UsageError that names the difference if the policy was made for another model."""
    expected = fingerprint(momdp)
    if made_for == expected:
        return
    ours, theirs = expected.rpartition(", ")[0], made_for.rpartition(", ")[0]
    difference = "its numbers differ" if ours == theirs else f"it has {theirs}; {momdp.view.model.name} has {ours}"
    raise UsageError(f"{path} is the policy of another model: {difference}.")
