"""Files that commands write: one is overwritten only if it is of the kind that the command writes."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pomdplite.errors import UsageError
from pomdplite.experiments.files import check_writable
from pomdplite.formats.loading import MARK, is_model_file
from pomdplite.planners.files import is_planner_file


class OutputKind(NamedTuple):
    """What a command writes, and how to recognise it."""

    name: str
    recognises: Callable[[Path], bool]


# How pictures and videos begin, by suffix; other formats cannot be recognised, so they are not overwritten.
_BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    ".png": (b"\x89PNG",), ".gif": (b"GIF8",), ".jpg": (b"\xff\xd8",), ".jpeg": (b"\xff\xd8",), ".pdf": (b"%PDF",),
    ".svg": (b"<?xml", b"<svg"), ".eps": (b"%!PS",), ".ps": (b"%!PS",), ".tif": (b"II*\0", b"MM\0*"),
    ".tiff": (b"II*\0", b"MM\0*"), ".webp": (b"RIFF",),
}  # fmt: skip


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(64)


def _is_picture(path: Path) -> bool:
    return _beginning(path).startswith(_BEGINNINGS.get(path.suffix.lower(), ()))


def _is_video(path: Path) -> bool:
    start = _beginning(path)
    return start[4:8] == b"ftyp" if path.suffix.lower() == ".mp4" else start.startswith(b"GIF8")


def _is_page(path: Path) -> bool:
    return _beginning(path).lstrip().lower().startswith(b"<!doctype html")


def model_file(path: Path) -> OutputKind:
    """A .pomdp or .pomdpx file that `pomdplite export` wrote."""
    if not is_model_file(str(path)):
        raise UsageError(f"{path} must end in .pomdp or .pomdpx.")
    return OutputKind("a model that pomdplite wrote", _is_exported)


def _is_exported(path: Path) -> bool:
    with path.open("rb") as file:
        return MARK.encode() in file.read(1000)


def _is_policy(path: Path) -> bool:
    with path.open("rb") as file:
        return b"<Policy" in file.read(1000)


POLICY = OutputKind("a planner file", is_planner_file)
APPL_POLICY = OutputKind("a policy of that format", _is_policy)
PAGE = OutputKind("an HTML page", _is_page)
PICTURE = OutputKind("a picture of that format", _is_picture)
VIDEO = OutputKind("a video of that format", _is_video)


def check_output(path: Path, kind: OutputKind) -> None:
    """Raise UsageError if a file cannot be written, or if it holds something other than what is to be written."""
    check_writable(path)
    if not os.path.lexists(path):
        return
    if not path.is_file():
        raise UsageError(f"cannot write {path}: it is not a regular file.")
    try:
        ours = path.stat().st_size == 0 or kind.recognises(path)
    except OSError as error:
        raise UsageError(f"cannot overwrite {path}: {error.strerror}.") from None
    if not ours:
        raise UsageError(f"{path} exists and is not {kind.name}, so it is not overwritten; choose another name.")
