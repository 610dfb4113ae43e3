"""Where in a file something is, and what messages say about it."""

from typing import NamedTuple, NoReturn

from pomdplite.errors import ModelError


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
