"""The modules behind a model from a user's file: the file, and every module of the user's that it imports.

A file is executed anew each time it is loaded, but Python keeps what it imports. So before a file is loaded, modules of
the user's that have changed on disk, and those that import them, are removed from Python's list. The digest covers what
was loaded, whatever is on disk now. Imports inside functions are not followed.
"""

import ast
import hashlib
import importlib.util
import site
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType

_STARTED = time.time()
_PATHS = sysconfig.get_paths()
_NOT_USERS = tuple(
    {_PATHS[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {*site.getsitepackages(), site.getusersitepackages(), str(Path(__file__).parents[1])}
)

_loaded: dict[str, tuple[ModuleType, str]] = {}  # users' modules by name, with the digests of their files when loaded


def forget_changed(source: bytes) -> None:
    """Have what a file imports imported anew where it has changed on disk since it was imported."""
    graph: dict[str, set[str]] = {}
    _follow("", source, None, graph)
    for name, (module, _) in _loaded.items():  # what the file will import may import them
        if name not in graph and sys.modules.get(name) is module:
            _follow(name, _source(module), module.__package__, graph)
    changed = {name for name in graph if name and _has_changed(sys.modules[name])}
    while more := {name for name, imports in graph.items() if name and imports & changed} - changed:
        changed |= more
    for name in changed:
        module = sys.modules.pop(name)
        _loaded.pop(name, None)
        with suppress(OSError):  # bytecode of the same second looks current to Python
            Path(importlib.util.cache_from_source(str(module.__file__))).unlink()
        package, _, last = name.rpartition(".")
        if getattr(sys.modules.get(package), last, None) is module:
            delattr(sys.modules[package], last)
    importlib.invalidate_caches()


def modules_digest(source: bytes) -> str:
    """A digest of a file that has just been executed and of all the user's modules that it imported."""
    graph: dict[str, set[str]] = {}
    _follow("", source, None, graph)
    parts = [hashlib.sha256(source).hexdigest()]
    for name in sorted(graph.keys() - {""}):
        module = sys.modules[name]
        if name not in _loaded or _loaded[name][0] is not module:
            _loaded[name] = module, hashlib.sha256(_source(module)).hexdigest()
        parts += [name, _loaded[name][1]]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _follow(name: str, source: bytes, package: str | None, graph: dict[str, set[str]]) -> None:
    """Add a module and what it imports to the graph: the user's modules that are loaded, each with its imports."""
    graph[name] = {found for found in _imports(source, package) if _is_users(sys.modules.get(found))}
    for found in graph[name] - graph.keys():
        module = sys.modules[found]
        _follow(found, _source(module), module.__package__, graph)


def _imports(source: bytes, package: str | None) -> Iterator[str]:
    """The names of all modules that a file may import outside of functions; some are names in modules instead."""
    try:
        waiting: list[ast.AST] = [ast.parse(source)]
    except (SyntaxError, ValueError):  # executing the file reports it
        return
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        waiting += ast.iter_child_nodes(node)
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level and package:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, base] if base else parents)
            names = [base, *(f"{base}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))


def _is_users(module: ModuleType | None) -> bool:
    file = getattr(module, "__file__", None)
    return file is not None and file.endswith(".py") and not file.startswith(_NOT_USERS)


def _source(module: ModuleType) -> bytes:
    try:
        return Path(str(module.__file__)).read_bytes()
    except OSError:  # deleted since
        return b""


def _has_changed(module: ModuleType) -> bool:
    """Whether a module's file has changed since it was imported, or since this process began if that is not known."""
    known, digest = _loaded.get(module.__name__, (None, ""))
    if known is module:
        return digest != hashlib.sha256(_source(module)).hexdigest()
    with suppress(OSError):
        return Path(str(module.__file__)).stat().st_mtime > _STARTED
    return False
