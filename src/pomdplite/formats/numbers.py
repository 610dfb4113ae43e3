"""Numbers in files: runs of them, parsed at once."""

import math
import re
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.formats.places import FilePlace

_NOT_A_NUMBER = re.compile(r"[^\s0-9eE.+-]")
SUM_TOLERANCE = 1e-4  # of probabilities that a file gives with few digits; they are divided by their sum
_EXACT = 1e-12
_SHORT = 500  # characters that Python splits faster than NumPy parses them


def parse_numbers(text: str, place: FilePlace) -> Floats:
    """The numbers of a text, separated by white space."""
    if not text or text.isspace():
        return np.zeros(0)
    wrong = _NOT_A_NUMBER.search(text)
    if wrong is None and len(text) > _SHORT:
        with warnings.catch_warnings():
            warnings.simplefilter("error", DeprecationWarning)
            try:
                numbers = np.fromstring(text, sep=" ")
            except (DeprecationWarning, ValueError):  # text that is no number: NumPy's ways of saying so
                numbers = np.array([np.nan])
        if np.isfinite(numbers).all():
            return numbers
    found = []
    for word in text.split():
        try:
            number = float(word)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or "_" in word:
            place.refuse(f"{word[:40]!r} is not a finite number")
        found.append(number)
    return np.array(found)


def parse_number(text: str, place: FilePlace) -> float:
    """The one number of a text."""
    numbers = parse_numbers(text, place)
    if len(numbers) != 1:
        place.refuse(f"expected one number, found {text[:40]!r}")
    return float(numbers[0])


def distributions(table: Floats, place: FilePlace, what: Callable[[], str]) -> Floats:
    """Probabilities along the last axis; where they are rounded and sum to nearly 1, divided by their sum.

    what: names them in messages.
    """
    if table.size and table.min() < 0:
        place.refuse(f"{what()} is negative: {table[table < 0][0]:g}")
    sums = table.sum(axis=-1, keepdims=True)
    off = np.abs(sums - 1)
    if not off.size or (most := off.max()) <= _EXACT:
        return table
    if most > SUM_TOLERANCE:
        place.refuse(f"{what()} sums to {sums[off > SUM_TOLERANCE][0]:.6g}, not 1")
    return np.where(off > _EXACT, table / sums, table)


def numbers_text(numbers: Sequence[float] | Floats) -> str:
    """Numbers as text that reads back as the same numbers."""
    return " ".join(repr(float(number)) for number in np.ravel(numbers))
