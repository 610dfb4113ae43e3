"""From a model's Python functions to machine code that kernels call.

Small wrappers of the fixed signatures (abi.py) are written into a generated module in
a cache folder, named by a hash of everything that they depend on, so that Numba finds their machine code on
disk and a second process compiles nothing.
"""

import contextlib
import hashlib
import inspect
import logging
import os
import sys
import tempfile
import types as python_types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.definition import ARGUMENTS, Functions, Source
from pomdplite.compile.errors import explain
from pomdplite.errors import ModelError

log = logging.getLogger("pomdplite")

KEPT_MODULES = 300  # generated modules kept in the cache folder, newest first

# Their versions are part of the digest, or they do not change: their contents need not be.
_KNOWN_PACKAGES = {"numpy", "numba", "pomdplite", *sys.stdlib_module_names} - {"__main__"}

_loaded: dict[str, Functions] = {}  # by digest; parameters are passed in, so models of one class share their code


def compiled(source: Source) -> Functions:
    """Compile the model's functions, or load them from the cache folder."""
    text = _module_text(source)
    digest = _digest(source, text)
    if digest in _loaded:
        return _loaded[digest]
    path = cache_folder() / f"model_{digest}.py"
    if not path.exists():
        log.info("compiling the functions of %s (once)", source.title)
        _write_once(path, text)
    module = python_types.ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module  # cached machine code names the module of its functions
    jitted = {
        name: numba.njit(_with_compiled_helpers(f, path.stem), error_model="numpy")
        for name, f in source.functions.items()
    }
    module.__dict__.update({f"user_{name}": f for name, f in jitted.items()})
    module.__dict__.update(STATE=source.state, THETA=source.theta, MEMORY=source.memory)
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102
    except Exception as error:  # noqa: BLE001  Numba reports some mistakes with its own errors, some with KeyError
        raise explain(source, jitted, _sample_arguments(source), error) from None
    addresses = {name: int(getattr(module, name).address) for name in source.functions}
    _loaded[digest] = Functions(addresses, (module,))
    return _loaded[digest]


def cache_folder() -> Path:
    """Where generated modules live: beside Numba's own cache if that is set, else the user's cache folder."""
    if numba.config.CACHE_DIR:
        base = Path(numba.config.CACHE_DIR) / "pomdplite"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pomdplite"
    try:
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK):
            return base
    except OSError as error:
        log.debug("%s: %s", base, error)
    log.warning("cannot write to the cache folder %s; models are compiled anew in every process", base)
    return Path(tempfile.mkdtemp(prefix="pomdplite-"))


def _write_once(path: Path, text: str) -> None:
    """Write atomically; a module that is already there keeps its time stamp, which Numba's cache checks."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    try:
        os.link(temporary, path)
        os.unlink(temporary)
    except FileExistsError:
        log.debug("another process wrote %s first", path)
        os.unlink(temporary)
    except OSError:  # no hard links here
        os.replace(temporary, path)
    ages = []
    for module in path.parent.glob("model_*.py"):
        with contextlib.suppress(FileNotFoundError):  # another process may clear up at the same time
            ages.append((module.stat().st_mtime, module))
    for _, old in sorted(ages, reverse=True)[KEPT_MODULES:]:
        for file_path in (old, *(path.parent / "__pycache__").glob(f"{old.stem}.*")):
            file_path.unlink(missing_ok=True)


def _module_text(source: Source) -> str:
    """The generated module. It depends on layouts, not on sizes of arrays or values of constants."""
    x_words, theta_words = source.state.itemsize // 8, source.theta.itemsize // 8
    arguments, at = [], 4
    for _, dtype, ndim in source.parameters.layout:
        if ndim == 0:
            arguments.append({"float64": f"floats[{at}]", "bool": f"words[{at}] != 0"}.get(dtype, f"words[{at}]"))
            at += 1
        else:
            shape = ", ".join(f"words[{at + 1 + d}]" for d in range(ndim))
            arguments.append(f"array_at(np.uint64(words[{at}]), ({shape},), np.{_numpy_name(dtype)})")
            at += 1 + ndim
    names = " ".join(name for name, _, _ in source.parameters.layout)
    lines = [
        f'"""Generated by pomdplite for the model {source.title}; may be deleted at any time."""',
        "from collections import namedtuple",
        "import numpy as np",
        "from numba import cfunc, njit",
        "from pomdplite.compile.abi import FAILED, RAISED_IN_DEPENDS, SIGNATURES, array_at, record_at",
        f'Parameters = namedtuple("Parameters", "{names}")',
        "@njit",
        "def parameters(m):",
        f"    words = array_at(m, {at}, np.int64)",
        f"    floats = array_at(m, {at}, np.float64)",
        f"    return Parameters({', '.join(arguments)})",
    ]
    float_fields = [n for n in source.state.names or () if source.state[n].base.kind == "f"]
    several = source.next_states > 1
    bodies = {
        "transition": [
            "    outcomes = array_at(m, 1, np.int64)[0]",
            f"    before = array_at(x, {x_words}, np.uint64)",
            f"    after = array_at(y, (outcomes, {x_words}), np.uint64)",
            "    chance = array_at(p, (outcomes,), np.float64)",
            "    for i in range(outcomes):",
            "        chance[i] = 0.0",
            f"        for w in range({x_words}):",
            "            after[i, w] = before[w]",
            "    records = array_at(y, (outcomes,), STATE)",
            "    try:",
            "        user_transition(parameters(m), record_at(x, STATE), record_at(theta, THETA), a, "
            + ("records, chance)" if several else "records[0])"),
            "    except Exception:",
            "        return FAILED",
            *([] if several else ["    chance[0] = 1.0"]),
            *(["    for i in range(outcomes):"] if float_fields else []),
            *(f"        records[i].{n} = records[i].{n} + 0.0" if source.state[n].ndim == 0 else
              f"        records[i].{n}[:] += 0.0" for n in float_fields),
            "    return outcomes",
        ],
        "observation": [
            "    count = array_at(m, 2, np.int64)[1]",
            "    likelihood = array_at(z, (count + 1,), np.float64)",
            "    likelihood[:] = 0.0",
            "    try:",
            "        seen = likelihood[:count]",
            "        user_observation(parameters(m), record_at(y, STATE), record_at(theta, THETA), a, seen)",
            "    except Exception:",
            "        return FAILED",
            "    silent = True",
            "    for o in range(count):",
            "        if likelihood[o] != 0.0:",
            "            silent = False",
            "    if silent:",
            "        likelihood[count] = 1.0",
            "    return 0",
        ],
        # The sums take a value that may be None apart where it can still be caught.
        "reward": _guarded(
            "0.0 + user_reward(parameters(m), record_at(x, STATE), record_at(theta, THETA), a)", "np.nan"
        ),
        "terminal": _guarded("1 if user_terminal(parameters(m), record_at(x, STATE)) else 0"),
        "legal": _guarded("1 if user_legal(parameters(m), record_at(x, STATE), a) else 0"),
        "depends": _guarded("0 + user_depends(parameters(m), record_at(x, STATE), a)", "RAISED_IN_DEPENDS"),
        "heuristic": _guarded("0.0 + user_heuristic(parameters(m), record_at(x, STATE))", "np.nan"),
        "policy": _guarded("0 + user_policy(parameters(m), record_at(x, STATE), u)"),
        "prior": [
            "    stream = array_at(random, (1,), np.uint64)",
            "    try:",
            "        user_prior(parameters(m), record_at(theta, THETA), stream)",
            "    except Exception:",
            "        return FAILED",
            "    return 0",
        ],
        "move": [
            "    stream = array_at(random, (1,), np.uint64)",
            "    try:",
            "        moved = user_move(parameters(m), record_at(x, STATE), record_at(theta, THETA), stream)",
            "    except Exception:",
            "        return FAILED",
            "    return 1 if moved else 0",
        ],
        "summary": [
            "    count = array_at(m, 3, np.int64)[2]",
            "    try:",
            "        user_summary(parameters(m), record_at(theta, THETA), array_at(f, (count,), np.float64))",
            "    except Exception:",
            "        return FAILED",
            "    return 0",
        ],
        "upper": _guarded("0.0 + user_upper(parameters(m), record_at(x, STATE), record_at(theta, THETA))", "np.nan"),
        "preferred": [
            "    count = array_at(m, 4, np.int64)[3]",
            "    chosen = array_at(f, (count,), np.float64)",
            "    chosen[:] = 0.0",
            "    try:",
            "        user_preferred(parameters(m), record_at(x, STATE), record_at(h, MEMORY), chosen)",
            "    except Exception:",
            "        return FAILED",
            "    preferred = 0",
            "    for i in range(count):",
            "        if chosen[i] > 0.0:",
            "            preferred += 1",
            "    return preferred",
        ],
        "remember": [
            "    try:",
            "        before, after = record_at(x, STATE), record_at(y, STATE)",
            "        user_remember(parameters(m), before, a, after, o, record_at(h, MEMORY))",
            "    except Exception:",
            "        return FAILED",
            "    return 0",
        ],
        "evolve": [
            f"    before = array_at(theta, {theta_words}, np.uint64)",
            f"    after = array_at(theta_next, {theta_words}, np.uint64)",
            f"    for w in range({theta_words}):",
            "        after[w] = before[w]",
            "    try:",
            "        later = record_at(theta_next, THETA)",
            "        user_evolve(parameters(m), record_at(x, STATE), record_at(theta, THETA), a, later)",
            "    except Exception:",
            "        return FAILED",
            *(f"    later.{n} = later.{n} + 0.0" if source.theta[n].ndim == 0 else f"    later.{n}[:] += 0.0"
              for n in source.theta.names or () if source.theta[n].base.kind == "f"),
            "    return 0",
        ],
    }  # fmt: skip
    for name in source.functions:
        lines += [
            f'@cfunc(SIGNATURES["{name}"], cache=True)',
            f"def {name}({', '.join(ARGUMENTS[name])}):",
            *bodies[name],
        ]
    return "\n".join(lines) + "\n"


def _guarded(expression: str, failed: str = "FAILED") -> list[str]:
    """The body of a wrapper that returns one value."""
    return ["    try:", f"        return {expression}", "    except Exception:", f"        return {failed}"]


def _numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def _sample_arguments(source: Source) -> dict[str, tuple[Any, ...]]:
    """One value of each argument, to compile the user's functions one by one for a clear error."""
    record, theta = np.zeros(1, source.state)[0], np.zeros(1, source.theta)[0]
    memory = np.zeros(1, source.memory)[0]
    values = {
        "m": source.parameters.values, "x": record, "theta": theta, "a": 0, "u": 0.5, "theta_next": theta,
        "p": np.zeros(source.next_states), "random": np.zeros(1, np.uint64), 
        "f": np.zeros(source.summary), "z": np.zeros(source.observations), "h": memory, "o": 0,
    }  # fmt: skip
    samples = {}
    for name in source.functions:
        taken = ARGUMENTS[name]
        y: Any = record
        if name == "transition":
            taken = taken if source.next_states > 1 else taken[:-1]
            y = np.zeros(source.next_states, source.state) if source.next_states > 1 else record
        samples[name] = tuple(y if argument == "y" else values[argument] for argument in taken)
    return samples


def _helpers(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
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
        codes += [constant for constant in code.co_consts if isinstance(constant, python_types.CodeType)]
    return names


def _with_compiled_helpers(
    function: Callable[..., Any], module: str, callers: tuple[Callable[..., Any], ...] = ()
) -> Callable[..., Any]:
    """The same function, calling compiled versions of the plain Python helpers that it uses.

    Its symbols carry the generated module's name: two versions of a user's function that are loaded into one
    process must not share a symbol.
    """
    if function in callers:
        raise ModelError(f"{function.__name__} calls itself; compiled model functions must be written as loops.")
    scope = dict(function.__globals__)
    for name, value in _helpers(function):
        if isinstance(value, python_types.FunctionType):
            scope[name] = numba.njit(_with_compiled_helpers(value, module, (*callers, function)), error_model="numpy")
    copy = python_types.FunctionType(
        function.__code__, scope, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = module
    copy.__qualname__ = function.__qualname__
    return copy


def _digest(source: Source, text: str) -> str:
    """A name for the generated module that changes with anything its machine code depends on."""
    digest = hashlib.sha256()

    def add(*parts: Any) -> None:
        for part in parts:
            digest.update(repr(part).encode() + b"\0")

    def add_function(function: Callable[..., Any], seen: set[int]) -> None:
        if id(function) in seen:
            return
        seen.add(id(function))
        add_code(function.__code__)
        add(function.__defaults__, function.__kwdefaults__)
        for cell in function.__closure__ or ():
            add_value(cell.cell_contents, seen)
        for name, value in _helpers(function):
            add(name)
            if isinstance(value, python_types.ModuleType):
                if value.__name__.partition(".")[0] not in _KNOWN_PACKAGES:
                    used = {n: getattr(value, n) for n in sorted(_names(function)) if hasattr(value, n)}
                    add_value(used, seen)
            else:
                add_value(value, seen)

    def add_code(code: python_types.CodeType) -> None:
        add(code.co_code, code.co_names, code.co_varnames, code.co_freevars)
        for constant in code.co_consts:
            if isinstance(constant, python_types.CodeType):
                add_code(constant)
            else:
                add(constant)

    def add_value(value: Any, seen: set[int]) -> None:
        inner = getattr(value, "py_func", value)  # a Numba function is known by its Python source
        if isinstance(inner, python_types.FunctionType):
            add_function(inner, seen)
        elif isinstance(value, np.ndarray):
            add(value.dtype, value.shape, value.tobytes())
        elif isinstance(value, (tuple, list, set, frozenset)):
            add(type(value).__name__, len(value))
            for item in value:
                add_value(item, seen)
        elif isinstance(value, dict):
            add(len(value))
            for key, item in value.items():
                add(key)
                add_value(item, seen)
        elif isinstance(value, type):
            add(value.__name__)
            if id(value) not in seen and value.__module__.partition(".")[0] not in _KNOWN_PACKAGES:
                seen.add(id(value))
                members = {k: v for k, v in vars(value).items() if not k.startswith("_")}
                add_value({k: getattr(v, "value", v) for k, v in members.items()}, seen)  # an enum's values, too
        else:
            add(value)

    add(numba.__version__, np.__version__, inspect.getsource(abi), source.state, source.theta, source.memory, text)
    for name, function in sorted(source.functions.items()):
        add(name)
        add_function(function, set())
    return digest.hexdigest()[:32]
