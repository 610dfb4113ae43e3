"""Files, and where in them something is."""

from pathlib import Path
from typing import NamedTuple, NoReturn

from pomdplite.errors import ModelError, UsageError, shown


class FilePlace(NamedTuple):
    """A line of a file."""

    file: str
    line: int

    def text(self, cause: str) -> str:
        """A sentence about this line."""
        return f"{self.file}, line {self.line}: {cause.rstrip('.')}."

    def refuse(self, cause: str) -> NoReturn:
        """Raise ModelError with file, line and cause."""
        raise ModelError(self.text(cause))


def read_bytes(path: str | Path) -> bytes:
    """The contents of a file; UsageError if it cannot be read."""
    try:
        return Path(path).expanduser().read_bytes()
    except (OSError, ValueError, RuntimeError) as error:  # ValueError, RuntimeError: a name that no file can have
        cause = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot read {shown(str(path))[1:-1]}: {cause}.") from None
