"""The limit on memory: every large structure is compared with it before it is allocated, and again when it grows.

POMDPLITE_MEMORY sets the limit, for example to "4GB"; by default it is half of the memory that was available when the
process started. The limit is for what one planner holds, in each process: worker processes share it evenly. Structures
of a fixed capacity (search trees) get as much room as fits, and what cannot be cut is refused with TooLargeError.
"""

import math
import os
import re
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.errors import TooLargeError, UsageError

VARIABLE = "POMDPLITE_MEMORY"
_SHARE = 0.5  # of the available memory
_UNKNOWN = 4 << 30  # bytes taken as available where the operating system does not say
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_CONTAINER_LIMITS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def limit() -> int:
    """The limit in bytes."""
    given = os.environ.get(VARIABLE)
    return _default_limit() if given is None else parse(given)


def parse(text: str) -> int:
    """A number of bytes given as "4GB", "800 MB" or "2e9"."""
    match = re.fullmatch(r"\s*([\d.]+(?:e\d+)?)\s*([KMGT]?)B?\s*", text, re.IGNORECASE)
    try:
        count = float(match[1]) * _UNITS[match[2].upper()] if match else 0.0
    except ValueError:
        count = 0.0
    if not 1 <= count < math.inf:
        raise UsageError(f'{VARIABLE} must be an amount of memory such as "4GB", not {text!r}.')
    return int(count)


def text(count: float) -> str:
    """A number of bytes for people."""
    for unit in ("GB", "MB"):
        if count >= _UNITS[unit[0]]:
            return f"{count / _UNITS[unit[0]]:.3g} {unit}"
    return f"{count / 1e3:.3g} KB"


def size(*parts: Any) -> int:
    """The bytes of all arrays in these records."""
    total = 0
    for part in parts:
        if isinstance(part, np.ndarray):
            total += part.nbytes
        elif isinstance(part, tuple):
            total += size(*part)
        elif is_dataclass(part):
            total += size(*(getattr(part, field.name) for field in fields(part)))
    return total


def require(needed: float, what: str, instead: str) -> None:
    """Raise TooLargeError if this many bytes exceed the limit; `instead` says what else the user can do."""
    most = limit()
    if needed > most:
        raise TooLargeError(
            f"{what} would need {text(needed)} of memory, and the limit is {text(most)}",
            f"{instead}, or allow more with {VARIABLE}.",
        )


def capacity(most: int, item: float, what: str, *, fewest: int = 1000, held: int = 0, share: float = 1.0) -> int:
    """How many items of so many bytes, at most `most`, fit into a share of the limit, beside the bytes held.

    TooLargeError if there is no room for the `fewest` that are of use.
    """
    fits = min(most, int((share * limit() - held) / item))
    if fits < fewest:
        require((held + fewest * item) / share, f"room for {fewest:,} {what}", "use smaller states or another planner")
    return fits


def ran_out(name: str) -> TooLargeError:
    """The error for an allocation that the operating system refused although the limit allowed it."""
    return TooLargeError(
        f"{name}: the system refused more memory below the limit of {text(limit())}: free some, use a planner that "
        f"samples (pomcp, despot), or set {VARIABLE} to what is available."
    )


def share(processes: int) -> None:
    """Divide the limit between so many processes: called in each of them."""
    os.environ[VARIABLE] = str(max(1, limit() // processes))


@cache
def _default_limit() -> int:
    return int(_SHARE * _available())


def _available() -> int:
    """Bytes that this process can still get: of the machine, of its container, and of its own address space."""
    found = [*_machine(), *_container(), *_address_space()]
    return max(1, min(found, default=_UNKNOWN))


def _machine() -> list[int]:
    meminfo = Path("/proc/meminfo")
    if meminfo.exists():
        match = re.search(r"^MemAvailable:\s*(\d+) kB", meminfo.read_text(), re.MULTILINE)
        if match:
            return [int(match[1]) * 1024]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        return [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2]
    return []


def _container() -> list[int]:
    found = []
    for most, used in _CONTAINER_LIMITS:
        if Path(most).exists() and Path(used).exists():
            allowed = Path(most).read_text().strip()
            if allowed.isdigit():
                found.append(int(allowed) - int(Path(used).read_text()))
    return found


def _address_space() -> list[int]:
    if os.name != "posix":
        return []
    import resource  # does not exist on Windows

    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    statm = Path("/proc/self/statm")
    used = int(statm.read_text().split()[0]) * resource.getpagesize() if statm.exists() else 0
    return [] if most == resource.RLIM_INFINITY else [most - used]
