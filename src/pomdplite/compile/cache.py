"""Generated modules on disk: named by what their machine code depends on, written once, pruned.

Numba keeps the machine code of a module beside it and checks the module's time stamp, so a second process that finds
the module compiles nothing.
"""

import contextlib
import hashlib
import inspect
import logging
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np
import platformdirs

from pomdplite.compile import addresses, faults, record_types
from pomdplite.compile.definition import Definition

log = logging.getLogger("pomdplite")

KEPT_MODULES = 300  # generated modules kept in the cache folder, newest first

_BUILT_IN = (addresses, faults, record_types)  # modules whose code becomes part of a model's machine code

# Packages whose version is part of the digest or which do not change: their contents need not be.
_KNOWN_PACKAGES = {"numpy", "numba", "pomdplite", *sys.stdlib_module_names} - {"__main__"}


def cache_folder() -> Path:
    """The folder of generated modules: beside Numba's cache if NUMBA_CACHE_DIR is set, else the user's cache folder."""
    if numba.config.CACHE_DIR:
        folder = Path(numba.config.CACHE_DIR) / "pomdplite"
    else:
        folder = platformdirs.user_cache_path("pomdplite", appauthor=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError as error:
        log.debug("%s: %s", folder, error)
    log.warning("the cache folder %s is not writable; every process will recompile its models", folder)
    return Path(tempfile.mkdtemp(prefix="pomdplite-"))


def write_once(path: Path, text: str) -> None:
    """Write atomically; a module that exists keeps its time stamp, which Numba checks."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    try:
        os.link(temporary, path)
        os.unlink(temporary)
    except FileExistsError:
        log.debug("another process wrote %s first", path)
        os.unlink(temporary)
    except OSError:  # no hard links on this file system
        os.replace(temporary, path)
    _prune(path.parent)


def _prune(folder: Path) -> None:
    """Delete all but the newest modules, and their machine code."""
    ages = []
    for module in folder.glob("model_*.py"):
        with contextlib.suppress(FileNotFoundError):  # another process may prune at the same time
            ages.append((module.stat().st_mtime, module))
    for _, old in sorted(ages, reverse=True)[KEPT_MODULES:]:
        for path in (old, *(folder / "__pycache__").glob(f"{old.stem}.*")):
            path.unlink(missing_ok=True)


def digest(definition: Definition, text: str) -> str:
    """A name for the generated module `text` that changes with anything its machine code depends on."""
    found = _Digest()
    found.add(numba.__version__, np.__version__, *(inspect.getsource(module) for module in _BUILT_IN))
    found.add(definition.state, definition.theta, definition.memory, text)
    for name, function in sorted(definition.functions.items()):
        found.add(name)
        found.seen.clear()
        found.add_function(function)
    return found.hash.hexdigest()[:32]


def helpers(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The module-level names that a function uses, with their values."""
    for name in sorted(_names(function)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(function: Callable[..., Any]) -> set[str]:
    """Every global or attribute name in a function."""
    names, codes = set[str](), [function.__code__]
    while codes:
        code = codes.pop()
        names |= set(code.co_names)
        codes += [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return names


class _Digest:
    """A hash of functions and of the constants and helpers that they use."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.seen: set[int] = set()

    def add(self, *parts: Any) -> None:
        for part in parts:
            self.hash.update(repr(part).encode() + b"\0")

    def add_function(self, function: Callable[..., Any]) -> None:
        if id(function) in self.seen:
            return
        self.seen.add(id(function))
        self.add_code(function.__code__)
        self.add(function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            self.add_value(cell.cell_contents)
        for name, value in helpers(function):
            self.add(name)
            if isinstance(value, types.ModuleType):
                if value.__name__.partition(".")[0] not in _KNOWN_PACKAGES:
                    self.add_value({n: getattr(value, n) for n in sorted(_names(function)) if hasattr(value, n)})
            else:
                self.add_value(value)

    def add_code(self, code: types.CodeType) -> None:
        self.add(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.add_code(constant)
            else:
                self.add(constant)

    def add_value(self, value: Any) -> None:
        inner = getattr(value, "py_func", value)  # a Numba function is known by its Python source
        if isinstance(inner, types.FunctionType):
            self.add_function(inner)
        elif isinstance(value, np.ndarray):
            self.add(value.dtype, value.shape, value.tobytes())
        elif isinstance(value, (tuple, list, set, frozenset)):
            self.add(type(value).__name__, len(value))
            for item in value:
                self.add_value(item)
        elif isinstance(value, dict):
            self.add(len(value))
            for key, item in value.items():
                self.add(key)
                self.add_value(item)
        elif isinstance(value, type):
            self.add_class(value)
        else:
            self.add(value)

    def add_class(self, value: type) -> None:
        self.add(value.__name__)
        if id(value) not in self.seen and value.__module__.partition(".")[0] not in _KNOWN_PACKAGES:
            self.seen.add(id(value))
            members = {k: v for k, v in vars(value).items() if not k.startswith("_")}
            self.add_value({k: getattr(v, "value", v) for k, v in members.items()})  # also the values of an enum
