"""Machine code on disk: a convenience that may be missing, damaged or full without stopping anything.

Numba finds the folder: NUMBA_CACHE_DIR, the `__pycache__` beside the source, or the user's cache folder. Where none of
them can be written to, a private temporary folder takes their place, and where there is none, machine code lives in
memory only. Files carry a checksum and the identity of what they hold. One that is damaged, or that belongs to other
code, is compiled again and replaced; Numba alone would fail in unpickling it, or run it.
"""

import hashlib
import logging
import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core import caching
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.sigutils import normalize_signature

log = logging.getLogger("pomdplite")

_MAGIC = b"pomdplite machine code 1\n"
_PICKLE = b"\x80"  # how a file begins that Numba wrote by itself
_warned: set[str] = set()


def warn_once(message: str, *values: Any) -> None:
    """Log a warning, each message once per process."""
    if message not in _warned:
        _warned.add(message)
        log.warning(message, *values)


def private_folder() -> Path | None:
    """A folder for temporary files that nobody else can write to: machine code is loaded from it."""
    try:
        user = os.getuid() if hasattr(os, "getuid") else None
        folder = Path(tempfile.gettempdir()) / ("pomdplite" if user is None else f"pomdplite-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
        mine = stat.S_ISDIR(found.st_mode) and (user is None or (found.st_uid == user and not found.st_mode & 0o022))
        return folder if mine and is_writable(folder) else None
    except OSError as error:
        log.debug("no temporary folder: %s", error)
        return None


def is_writable(folder: Path) -> bool:
    """Whether files can be created in a folder; permissions alone do not tell."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        log.debug("%s: %s", folder, error)
        return False
    return True


def keep_on_disk(function: Any) -> Any:
    """Let a compiled function load its machine code from disk and store it there; a plain one stays as it is."""
    if isinstance(function, Dispatcher):
        setattr(function, "_cache", disk_cache(function.py_func))  # noqa: B010  not in Numba's type stubs
    return function


def cfunc(signature: str) -> Callable[[Callable[..., Any]], Any]:
    """Numba's `cfunc`, with machine code on disk if the function's module is on disk."""

    def compiled(function: Callable[..., Any]) -> Any:
        callback: Any = CFunc(function, normalize_signature(signature), locals={}, options={})
        if os.path.exists(function.__code__.co_filename):
            callback._cache = disk_cache(function)
        callback.compile()
        return callback

    return compiled


def disk_cache(function: Callable[..., Any]) -> Any:
    """Where a function's machine code is stored: on disk, or nowhere if no folder is writable."""
    try:
        return MachineCodeCache(function)
    except (RuntimeError, OSError) as error:  # RuntimeError: Numba finds no folder
        log.debug("%s", error)
        warn_once("no folder for compiled code is writable; every process will compile again what it uses")
        return caching.NullCache()


class _TemporaryLocator(caching.UserProvidedCacheLocator):  # type: ignore[misc]
    """The last resort: the private temporary folder."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file, self._lineno = py_file, py_func.__code__.co_firstlineno
        folder = private_folder()
        if folder is None:
            raise OSError("no private temporary folder")
        self._cache_path = str(folder / self.get_suitable_cache_subpath(py_file))

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Any:
        """Numba asks every kind of locator in turn; None means: ask the next."""
        try:
            found = cls(py_func, py_file)
            found.ensure_cache_path()
        except OSError as error:
            log.debug("%s: %s", py_file, error)
            return None
        warn_once("no cache folder is writable; compiled code is stored in %s", private_folder())
        return found


class _MachineCode(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = [*caching.CacheImpl._locator_classes, _TemporaryLocator]  # noqa: RUF012  as Numba has it


class MachineCodeCache(caching.FunctionCache):  # type: ignore[misc]
    """Numba's cache of one function, in files that are checked; trouble with them costs time and nothing else."""

    _impl_class = _MachineCode

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CheckedFiles(self._cache_path, self._impl.filename_base, stamp)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature; None if it is not stored or cannot be used."""
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001  a stored object can fail in any way to become code again
            self._cache_file.discard(f"{type(error).__name__}: {error}")
            return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Store machine code, if the disk takes it."""
        try:
            super().save_overload(sig, data)
        except OSError as error:
            warn_once("compiled code cannot be stored in %s: %s", self._cache_path, error.strerror or error)


class _CheckedFiles(caching.IndexDataCacheFile):  # type: ignore[misc]
    """An index and data files, each with a checksum; a data file also says which code it holds.

    Numba writes the index first. A failure after that would leave an index that points to older code.
    """

    def save(self, key: Any, data: Any) -> None:
        """Store an entry."""
        overloads = self._load_index()
        numbers = range(1, len(overloads) + 2)
        free = next(name for name in map(self._data_name, numbers) if name not in overloads.values())
        name = overloads.get(key, free)
        self._write(self._data_path(name), (self._source_stamp, key, data))
        self._save_index(overloads | {key: name})

    def load(self, key: Any) -> Any:
        """An entry; None if there is none that can be used."""
        name = self._load_index().get(key)
        found = None if name is None else self._read(self._data_path(name))
        return found[2] if found is not None and found[:2] == (self._source_stamp, key) else None

    def discard(self, why: str) -> None:
        """Delete the index, and with it all entries."""
        log.debug("%s: %s", self._index_path, why)
        warn_once("damaged compiled code in %s is replaced", self._cache_path)
        with suppress(OSError):
            os.unlink(self._index_path)

    def _load_index(self) -> dict[Any, str]:
        found = self._read(self._index_path)
        return found[2] if found is not None and found[:2] == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _write(self, path: str, content: Any) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(_MAGIC + hashlib.sha256(data).digest() + data)

    def _read(self, path: str) -> Any:
        """What a file holds; None if it is missing, and if it is damaged, in which case it is deleted."""
        try:
            content = Path(path).read_bytes()
        except OSError:
            return None
        start = len(_MAGIC) + hashlib.sha256().digest_size
        if content[:start] == _MAGIC + hashlib.sha256(content[start:]).digest():
            return pickle.loads(content[start:])
        if not content.startswith(_PICKLE):
            warn_once("damaged compiled code in %s is replaced", self._cache_path)
        with suppress(OSError):
            os.unlink(path)
        return None
