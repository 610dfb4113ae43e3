"""Planner files: what was chosen and computed for a model, so that it is neither chosen nor computed again.

A file is an archive of NumPy arrays: the planner's title, parameters and clock as JSON, what identifies the model, and
the arrays that the planner itself wants to keep. Nothing in it is executed, and sizes are checked before anything is
unpacked.
"""

import json
import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pomdplite.errors import UsageError, shown
from pomdplite.mdp import memory
from pomdplite.model.model import Model
from pomdplite.planners.identity import described, same_numbers, sampled_numbers

_FAMILY = "pomdplite"
_FORMAT = f"{_FAMILY} planner 1"
_SMALL = 1_000_000  # bytes: more than the texts of a file need
_OWN = "own_"  # how the names of the planner's own arrays begin
_TEXT, _NUMBER = "U", "f8"  # NumPy's types
# What reading a damaged archive can raise: RuntimeError if it is encrypted, MemoryError and RecursionError if a header
# is nested too deeply.
_DAMAGED = (
    OSError, TypeError, ValueError, KeyError, EOFError, RuntimeError, MemoryError, struct.error, zipfile.BadZipFile,
    zlib.error, lzma.LZMAError, tokenize.TokenError,
)  # fmt: skip

Computed = dict[str, NDArray[Any]]


class StoredPlanner(NamedTuple):
    """What a file says of its planner; its own arrays are read apart."""

    title: str
    parameters: dict[str, Any]  # the constructor's arguments
    clock: str
    note: str = ""  # whatever else is kept in the file


def write(path: Path, model: Model, planner: StoredPlanner, computed: Computed) -> None:
    """Write a file that `read_planner` and `read_computed` read."""
    about = {**planner._asdict(), "model": described(model)}
    arrays: dict[str, Any] = {f"{_OWN}{name}": array for name, array in computed.items()}
    arrays["about"] = np.array(json.dumps(about, default=lambda number: number.item()))  # of NumPy's types
    arrays |= {"format": np.array(_FORMAT), "numbers": sampled_numbers(model)}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def is_planner_file(path: Path) -> bool:
    """Whether a file was written by `write`, in this version or another."""
    try:
        with zipfile.ZipFile(path) as archive:
            return str(_array(archive, "format", _TEXT, _SMALL)).startswith(_FAMILY)
    except _DAMAGED:
        return False


def read_planner(path: Path, model: Model) -> StoredPlanner:
    """The planner in a file; UsageError if the file is missing, damaged or made for another model."""
    if not path.is_file():
        raise UsageError(f"there is no planner file {path}.")
    try:
        with zipfile.ZipFile(path) as archive:
            version = str(_array(archive, "format", _TEXT, _SMALL))
            if version != _FORMAT:
                raise UsageError(f"{path} is a planner file of another version: {shown(version)}, not {_FORMAT!r}.")
            about = json.loads(str(_array(archive, "about", _TEXT, _SMALL)))
            found = StoredPlanner(*(about[name] for name in StoredPlanner._fields))
            if [type(value) for value in found] != [str, dict, str, str]:
                raise ValueError("about is not what it should be")
            theirs, numbers = dict(about["model"]), _array(archive, "numbers", _NUMBER, _SMALL)
    except UsageError:
        raise
    except _DAMAGED:
        raise UsageError(f"{path} is not a planner file, or it is damaged.") from None
    for name, ours in described(model).items():
        if theirs.get(name) != ours:
            raise UsageError(
                f"{path} was made for another model, with {name} {shown(theirs.get(name))} instead of {shown(ours)}."
            )
    if not same_numbers(numbers, sampled_numbers(model)):
        raise UsageError(f"{path} was made for another model: probabilities or rewards of {model.name} differ.")
    return found


def read_computed(path: Path, kinds: Mapping[str, str], limit: float) -> Computed:
    """The planner's own arrays, of these NumPy types; UsageError if they need more than so many bytes of memory."""
    try:
        with zipfile.ZipFile(path) as archive:
            size = sum(archive.getinfo(f"{_OWN}{name}.npy").file_size for name in kinds)
            if size > limit:
                raise UsageError(f"{path} holds {memory.text(size)}, more than the {memory.text(limit)} allowed.")
            return {name: _array(archive, f"{_OWN}{name}", kind, size) for name, kind in kinds.items()}
    except UsageError:
        raise
    except _DAMAGED:
        raise UsageError(f"{path} is damaged: what its planner needs cannot be read.") from None


def _array(archive: zipfile.ZipFile, name: str, wanted: str, limit: int) -> NDArray[Any]:
    """An array of the archive; its size is checked before it is unpacked, since a small file may unpack to a huge one.

    np.load would allocate whatever the array's header says.
    """
    size = archive.getinfo(f"{name}.npy").file_size
    with archive.open(f"{name}.npy") as file:
        version = np.lib.format.read_magic(file)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, in_fortran_order, kind = read_header(file)
        count = math.prod(shape)
        fits = kind.kind == _TEXT if wanted == _TEXT else kind == np.dtype(wanted)
        if size > limit or not fits or kind.itemsize * count != size - file.tell():
            raise ValueError(f"{name} is not what its header says")
        data = np.frombuffer(file.read(kind.itemsize * count), kind, count)
    return data.reshape(shape, order="F" if in_fortran_order else "C")
