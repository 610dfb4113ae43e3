"""How results were produced: versions and machine."""

import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("pomdplite", "numpy", "numba", "llvmlite")  # packages that results may depend on


def versions() -> dict[str, str]:
    """Versions of Python, this library and its dependencies."""
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in _PACKAGES}


def machine() -> dict[str, str]:
    """Processor, cores, system."""
    return {"processor": _processor(), "cores": str(os.cpu_count()), "system": platform.platform()}


def _processor() -> str:
    """The processor's name; platform.processor() is empty on Linux."""
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
