"""A study's TOML text: its content, and line numbers for error messages.

Python's TOML parser reports the line of a syntax error but not those of keys, so keys are located in the text.
"""

import itertools
import re
import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

from pomdplite.errors import UsageError

_HEADER = re.compile(r"^\s*(\[\[?)\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"""^\s*([\w."'-]+(?:\s*\.\s*[\w."'-]+)*)\s*=""")


class StudyText:
    """A text with a name; without a text (a study defined in Python) errors give only the block and the key."""

    def __init__(self, name: str, text: str | None = None) -> None:
        self.name, self._lines = name, (text or "").splitlines()
        self.content: dict[str, Any] = {}
        if text is not None:
            try:
                self.content = tomllib.loads(text)
            except tomllib.TOMLDecodeError as error:
                place = re.search(r" \(at line (\d+), column \d+\)", str(error))
                line = int(place[1]) if place else len(self._lines)  # "at end of document"
                raise UsageError(f"{name}, line {line}: {str(error).split(' (at ')[0]}.") from None
            except RecursionError:
                raise UsageError(f"{name}: its lists or tables are nested too deeply.") from None
            except ValueError:  # Python reads no numbers of thousands of digits
                raise UsageError(f"{name}: it contains a number that is too large.") from None

    def error(self, message: str, block: int | None, *keys: str) -> UsageError:
        """An error with its location: a key (of a table), or a value in a list, in the block with this number."""
        line = self._line(block, keys)
        if line is not None:
            return UsageError(f"{self.name}, line {line}: {message}")
        where = "" if block is None else f", cells[{block}]"
        return UsageError(f"{self.name}{where}: {message}")

    def _line(self, block: int | None, keys: tuple[str, ...]) -> int | None:
        """The most specific line known: of the key, its table or list, the default at the top, or the block."""
        here = [entry for entry in self._entries() if entry.block == block]
        lines = {entry.path: entry.line for entry in reversed(here)}
        if keys in lines:
            return lines[keys]
        if keys[:1] in lines and keys:
            return self._line_with(keys[-1], lines[keys[:1]])
        if block is not None and keys and keys[0] in self.content:
            return self._line(None, keys)
        return here[0].line if here and block is not None else None

    def _entries(self) -> Iterator["_TextEntry"]:
        """Every header and key."""
        block: int | None = None
        table: tuple[str, ...] = ()
        count = itertools.count()
        for line, text in enumerate(self._lines, 1):
            header, key = _HEADER.match(text), _KEY.match(text)
            if key:
                yield _TextEntry(block, table + _split(key[1]), line)
            elif header:
                names = _split(header[2])
                if header[1] == "[[" and names == ("cells",):
                    block = next(count)
                elif names[0] != "cells":
                    block = None
                table = names[1:] if names[0] == "cells" else names
                yield _TextEntry(block, table, line)

    def _line_with(self, word: str, first: int) -> int:
        """The line of a word in the table or list that starts on line `first`; that line if the word is not found."""
        whole = re.compile(rf"(?<![\w-]){re.escape(word)}(?![\w-])")
        for line in range(first, len(self._lines) + 1):
            text = self._lines[line - 1]
            if line > first and (_KEY.match(text) or _HEADER.match(text)):
                break
            if whole.search(text):
                return line
        return first


class _TextEntry(NamedTuple):
    """A header or a key."""

    block: int | None  # the number of its [[cells]] block; None at the top
    path: tuple[str, ...]  # its key path in the block; empty for the block's header
    line: int


def _split(path: str) -> tuple[str, ...]:
    return tuple(part.strip().strip("\"'") for part in path.split("."))
