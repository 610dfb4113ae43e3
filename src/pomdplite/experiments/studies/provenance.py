"""With what results were made: versions and machine."""

import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("pomdplite", "numpy", "numba", "llvmlite")  # that results may depend on


def versions() -> dict[str, str]:
    """Of Python, of this library and of what it stands on."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in _PACKAGES}


def machine() -> dict[str, str]:
    """Processor, cores, system."""
    return {"processor": _processor(), "cores": str(os.cpu_count()), "system": platform.platform()}


def _processor() -> str:
    """The processor's name; Python's own answer is empty on Linux."""
    about = Path("/proc/cpuinfo")
    if about.is_file():
        for line in about.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
