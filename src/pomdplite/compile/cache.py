"""Generated modules on disk: named by what their machine code depends on, written once, pruned.

Numba keeps the machine code of a module beside it and checks the module's contents, so a second process that finds
the module compiles nothing. Without a folder to write to, modules live in memory.
"""

import contextlib
import logging
import os
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numba
import platformdirs
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from pomdplite.compile.digest import CodeDigest
from pomdplite.compile.storage import is_writable, private_folder, warn_once

log = logging.getLogger("pomdplite")

KEPT_MODULES, KEPT_PLANS = 300, 50  # generated modules and chosen planners kept in the cache folder, newest first


def stored_module(code: CodeDigest, text: str, title: str) -> Path | None:
    """The file of a generated module, written if it is not there; None if it cannot or must not be kept on disk."""
    if code.unseen is not None:
        warn_once(f"{title} is compiled in every process, because its functions use {code.unseen}")
        return None
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / f"model_{code.key}.py"
    try:
        if not path.exists():
            log.info("compiling the functions of %s (once)", title)
            write_once(path, text)
        elif path.read_bytes() != text.encode():
            warn_once("damaged compiled code in %s is replaced", folder)
            path.unlink()
            write_once(path, text)
    except OSError as error:
        warn_once("compiled code cannot be stored in %s: %s", folder, error.strerror or error)
        return None
    return path


def cache_folder() -> Path | None:
    """The folder of generated modules: below Numba's if NUMBA_CACHE_DIR is set, else the user's cache folder.

    If it is not writable, a temporary folder; None if there is none.
    """
    if numba.config.CACHE_DIR:
        folder = Path(numba.config.CACHE_DIR) / "pomdplite"
    else:
        folder = platformdirs.user_cache_path("pomdplite", appauthor=False)
    with contextlib.suppress(OSError):  # is_writable reports it
        folder.mkdir(parents=True, exist_ok=True)
    if is_writable(folder):
        return folder
    other = private_folder()
    if other is None:
        warn_once("the cache folder %s is not writable; every process will compile its models again", folder)
    else:
        warn_once("the cache folder %s is not writable; compiled models are stored in %s", folder, other)
    return other


def write_once(path: Path, content: str | bytes) -> None:
    """Write atomically; the first of several processes wins."""
    data = content.encode() if isinstance(content, str) else content
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.link(temporary, path)
    except FileExistsError:
        log.debug("another process wrote %s first", path)
    except OSError as error:
        if not os.path.exists(temporary) or os.stat(temporary).st_size != len(data):
            raise  # a full disk
        log.debug("no hard links here: %s", error)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):  # it was renamed
            os.unlink(temporary)
    _prune(path.parent)


@contextlib.contextmanager
def compiled_afresh(functions: Iterable[Any]) -> Iterator[None]:
    """Let Numba functions that a user cached on disk compile from their source.

    Numba loads them if their own file is unchanged, also when a constant that they import has changed.
    """
    changed: list[tuple[Any, str, Any, bool]] = []
    for function in functions:
        cache = "_cache" if isinstance(function, Dispatcher) else "cache"
        changed.append((function, cache, getattr(function, cache), getattr(function, "_can_compile", True)))
        setattr(function, cache, NullCache())
        function._can_compile = True
    loaded = [(f, tuple(f.overloads)) for f, *_ in changed if getattr(f, "_cache_hits", True)]
    for function, _ in loaded:
        getattr(function, "_reset_overloads", function.overloads.clear)()
    try:
        for function, signatures in loaded:
            for signature in signatures:
                function.compile(signature)
        yield
    finally:
        for function, cache, value, can_compile in changed:
            setattr(function, cache, value)
            function._can_compile = can_compile


def _prune(folder: Path) -> None:
    """Delete all but the newest modules, with their machine code, and all but the newest plans."""
    for pattern, kept in (("model_*.py", KEPT_MODULES), ("plan_*.npz", KEPT_PLANS)):
        ages = []
        for path in folder.glob(pattern):
            with contextlib.suppress(FileNotFoundError):  # another process may prune at the same time
                ages.append((path.stat().st_mtime, path))
        for _, old in sorted(ages, reverse=True)[kept:]:
            for path in (old, *(folder / "__pycache__").glob(f"{old.stem}.*")):
                path.unlink(missing_ok=True)
