"""What studies and tunings share in handling their database files."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pomdplite.errors import PomdpLiteError, UsageError


def check_writable(path: Path) -> None:
    """Raise UsageError if a file cannot be written."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: permission denied.")


@contextmanager
def database_errors_reported(path: Path, kind: str) -> Iterator[None]:
    """Turn SQLite's errors into the library's, with the file's name; `kind` is "study" or "tuning"."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise PomdpLiteError(f"cannot use {path}: {error}.") from None
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
        raise PomdpLiteError(f"{path} is damaged, or not a {kind} file: {error}.") from None
