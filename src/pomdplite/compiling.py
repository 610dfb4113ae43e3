"""From a model's Python functions to addresses that kernels call.

Compiled: small wrappers of the fixed, erased signatures (erased.py) are written into a generated module in
a cache folder, named by a hash of everything that they depend on, so that Numba finds their machine code on
disk and a second process compiles nothing. Interpreted: the same signatures through ctypes callbacks, for
models that cannot be compiled (`compiled = False`, a simulator) and for debugging (NUMBA_DISABLE_JIT=1).
"""

import ctypes
import hashlib
import inspect
import logging
import os
import sys
import tempfile
import types as python_types
from collections import namedtuple
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numba
import numpy as np

from pomdplite import erased
from pomdplite.compile_errors import explain
from pomdplite.errors import ModelError
from pomdplite.jit import Ints
from pomdplite.layout import to_words

log = logging.getLogger("pomdplite")

# What the user's functions take; `transition` takes p only where `outcomes` > 1.
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "transition": ("m", "x", "theta", "a", "y", "p"),
    "observation": ("m", "y", "theta", "a", "z"),
    "reward": ("m", "x", "theta", "a"),
    "terminal": ("m", "x"),
    "legal": ("m", "x", "a"),
    "depends": ("m", "x", "a"),
    "evolve": ("m", "x", "theta", "a", "theta_next"),
}

KEPT_MODULES = 300  # generated modules kept in the cache folder, newest first


@dataclass(frozen=True)
class Source:
    """What compiling needs to know of a model."""

    title: str
    state: np.dtype[Any]
    theta: np.dtype[Any]
    functions: dict[str, Callable[..., Any]]
    parameters: "Parameters"
    outcomes: int
    observations: int


@dataclass(frozen=True)
class Parameters:
    """The model's constants: as a named tuple for the user's functions, as a block of words for kernels."""

    values: Any  # the named tuple `m`
    block: Ints  # [word]; the first two words are `outcomes` and `observations`
    layout: tuple[tuple[str, str, int], ...]  # name, dtype, dimensions


def parameters(constants: dict[str, Any], outcomes: int, observations: int) -> Parameters:
    """Lay the model's numbers and numeric arrays out for kernels; anything else is left out."""
    values: dict[str, Any] = {}
    words: list[int] = [outcomes, observations]
    layout: list[tuple[str, str, int]] = []
    for name, constant in sorted(constants.items()):
        array = _numeric(constant)
        if array is None:
            continue
        if array.ndim == 0:
            array = array.astype({"b": np.int64, "f": np.float64}.get(array.dtype.kind, np.int64))
            words.append(int(array.reshape(1).view(np.int64)[0]))
            layout.append((name, "bool" if isinstance(constant, (bool, np.bool_)) else array.dtype.name, 0))
            values[name] = constant
        else:
            array = np.ascontiguousarray(array).copy()
            array.flags.writeable = False
            words += [array.ctypes.data, *array.shape]
            layout.append((name, array.dtype.name, array.ndim))
            values[name] = array
    m = namedtuple("Parameters", list(values))(**values)
    return Parameters(m, np.array(words, np.int64), tuple(layout))


def _numeric(constant: Any) -> Any:
    if isinstance(constant, (bool, int, float, np.number, np.bool_)):
        return np.asarray(constant)
    if isinstance(constant, (list, tuple, np.ndarray)):
        try:
            array = np.asarray(constant)
        except ValueError:
            return None
        return array if array.dtype.kind in "biuf" and array.ndim > 0 else None
    return None


@dataclass(frozen=True)
class Functions:
    """Addresses of a model's erased functions, and what must stay alive for them to be valid."""

    addresses: dict[str, int]
    keep: tuple[Any, ...]
    failures: list[BaseException] = field(default_factory=list)  # raised inside interpreted callbacks


# ---------------------------------------------------------------------------------------------- compiled


def compiled(source: Source) -> Functions:
    """Compile the model's functions, or load them from the cache folder."""
    text = _module_text(source)
    digest = _digest(source, text)
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
    module.__dict__.update(STATE=source.state, THETA=source.theta)
    try:
        exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102
    except Exception as error:  # noqa: BLE001  Numba reports some mistakes with its own errors, some with KeyError
        raise explain(source.title, source.functions, jitted, _sample_arguments(source), error) from None
    addresses = {name: int(getattr(module, name).address) for name in source.functions}
    return Functions(addresses, (module,))


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
        log.warning("cannot use the cache folder %s (%s); models are compiled anew in every process", base, error)
    return Path(tempfile.mkdtemp(prefix="pomdplite-"))


def _write_once(path: Path, text: str) -> None:
    """Write atomically; a module that is already there keeps its time stamp, which Numba's cache checks."""
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
    with os.fdopen(handle, "w") as file:
        file.write(text)
    try:
        os.link(temporary, path)
    except FileExistsError:
        log.debug("another process wrote %s first", path)
    finally:
        os.unlink(temporary)
    modules = sorted(path.parent.glob("model_*.py"), key=lambda p: p.stat().st_mtime, reverse=True)
    for old in modules[KEPT_MODULES:]:
        for file_path in (old, *(path.parent / "__pycache__").glob(f"{old.stem}.*")):
            file_path.unlink(missing_ok=True)


def _module_text(source: Source) -> str:
    """The generated module. It depends on layouts, not on sizes of arrays or values of constants."""
    x_words, theta_words = source.state.itemsize // 8, source.theta.itemsize // 8
    arguments, at = [], 2
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
        "from pomdplite.erased import FAILED, SIGNATURES, array_at, record_at",
        f'Parameters = namedtuple("Parameters", "{names}")',
        "@njit",
        "def parameters(m):",
        f"    words = array_at(m, {at}, np.int64)",
        f"    floats = array_at(m, {at}, np.float64)",
        f"    return Parameters({', '.join(arguments)})",
    ]
    float_fields = [n for n in source.state.names or () if source.state[n].base.kind == "f"]
    several = source.outcomes > 1
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
        "reward": [
            "    try:",
            "        return user_reward(parameters(m), record_at(x, STATE), record_at(theta, THETA), a)",
            "    except Exception:",
            "        return np.nan",
        ],
        "terminal": ["    return 1 if user_terminal(parameters(m), record_at(x, STATE)) else 0"],
        "legal": ["    return 1 if user_legal(parameters(m), record_at(x, STATE), a) else 0"],
        "depends": ["    return user_depends(parameters(m), record_at(x, STATE), a)"],
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


def _numpy_name(dtype: str) -> str:
    return "bool_" if dtype == "bool" else dtype


def _sample_arguments(source: Source) -> dict[str, tuple[Any, ...]]:
    """One value of each argument, to compile the user's functions one by one for a clear error."""
    record, theta = np.zeros(1, source.state)[0], np.zeros(1, source.theta)[0]
    values = {
        "m": source.parameters.values, "x": record, "theta": theta, "a": 0, "theta_next": theta,
        "p": np.zeros(source.outcomes), "z": np.zeros(source.observations),
    }  # fmt: skip
    samples = {}
    for name in source.functions:
        taken = ARGUMENTS[name]
        y: Any = record
        if name == "transition":
            taken = taken if source.outcomes > 1 else taken[:-1]
            y = np.zeros(source.outcomes, source.state) if source.outcomes > 1 else record
        samples[name] = tuple(y if argument == "y" else values[argument] for argument in taken)
    return samples


def _helpers(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The module-level names that a function uses, with their values."""
    code = function.__code__
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            names |= set(constant.co_names)
    for name in sorted(names):
        if name in function.__globals__:
            yield name, function.__globals__[name]


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
        elif isinstance(value, python_types.ModuleType):
            add(value.__name__)
        else:
            add(value)

    add(numba.__version__, np.__version__, inspect.getsource(erased), source.state, source.theta, text)
    for name, function in sorted(source.functions.items()):
        add(name)
        add_function(function, set())
    return digest.hexdigest()[:32]


# ------------------------------------------------------------------------------------------- interpreted


class Plain:
    """The model's functions as Python runs them, on records; the reference that compiled code must equal."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.m = source.parameters.values

    def transition(self, x: Any, theta: Any, a: int) -> list[tuple[Any, float]]:
        """Every next state that T gives, with its probability as given."""
        source = self.source
        words = to_words(source.state, x)
        y = np.tile(words, source.outcomes).view(source.state).view(np.recarray)
        p = np.zeros(source.outcomes)
        if source.outcomes > 1:
            source.functions["transition"](self.m, x, theta, a, y, p)
        else:
            source.functions["transition"](self.m, x, theta, a, y[0])
            p[0] = 1.0
        return [(y[i], float(p[i])) for i in range(source.outcomes)]

    def observation(self, y: Any, theta: Any, a: int) -> Any:
        """P(o | y, θ', a), null last."""
        z = np.zeros(self.source.observations + 1)
        if "observation" in self.source.functions:
            self.source.functions["observation"](self.m, y, theta, a, z[:-1])
        if not z.any():
            z[-1] = 1.0
        return z

    def reward(self, x: Any, theta: Any, a: int) -> float:
        """R(x, θ, a)."""
        return float(self.source.functions["reward"](self.m, x, theta, a))

    def terminal(self, x: Any) -> bool:
        """Whether x ends the episode."""
        function = self.source.functions.get("terminal")
        return bool(function(self.m, x)) if function else False

    def legal(self, x: Any, a: int) -> bool:
        """Whether a may be chosen in x."""
        function = self.source.functions.get("legal")
        return bool(function(self.m, x, a)) if function else True

    def depends(self, x: Any, a: int) -> int:
        """The component of θ that (x, a) depends on, -1 for none."""
        return int(self.source.functions["depends"](self.m, x, a))

    def evolve(self, x: Any, theta: Any, a: int) -> Any:
        """θ' = φ(θ, x, a)."""
        after = to_words(self.source.theta, theta).view(self.source.theta).view(np.recarray)[0]
        if "evolve" in self.source.functions:
            self.source.functions["evolve"](self.m, x, theta, a, after)
        return after


def interpreted(source: Source) -> Functions:
    """The same erased functions, run by Python through ctypes callbacks."""
    plain = Plain(source)
    failures: list[BaseException] = []
    x_words, theta_words = source.state.itemsize // 8, source.theta.itemsize // 8

    def words_at(address: int, count: int) -> Any:
        return np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(address))

    def state_at(address: int) -> Any:
        return words_at(address, x_words).view(source.state).view(np.recarray)[0]

    def theta_at(address: int) -> Any:
        return words_at(address, theta_words).view(source.theta).view(np.recarray)[0]

    def transition(m: int, x: int, theta: int, a: int, y: int, p: int) -> int:
        out = words_at(y, x_words * source.outcomes).reshape(source.outcomes, x_words)
        chance = words_at(p, source.outcomes).view(np.float64)
        for i, (record, probability) in enumerate(plain.transition(state_at(x), theta_at(theta), a)):
            out[i] = to_words(source.state, record)
            chance[i] = probability
        return source.outcomes

    def observation(m: int, y: int, theta: int, a: int, z: int) -> int:
        words_at(z, source.observations + 1).view(np.float64)[:] = plain.observation(state_at(y), theta_at(theta), a)
        return 0

    def evolve(m: int, x: int, theta: int, a: int, theta_next: int) -> int:
        words_at(theta_next, theta_words)[:] = to_words(source.theta, plain.evolve(state_at(x), theta_at(theta), a))
        return 0

    callbacks: dict[str, Callable[..., Any]] = {
        "transition": transition,
        "observation": observation,
        "reward": lambda m, x, theta, a: plain.reward(state_at(x), theta_at(theta), a),
        "terminal": lambda m, x: int(plain.terminal(state_at(x))),
        "legal": lambda m, x, a: int(plain.legal(state_at(x), a)),
        "depends": lambda m, x, a: plain.depends(state_at(x), a),
        "evolve": evolve,
    }

    def guarded(name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        failed: Any = float("nan") if name == "reward" else erased.FAILED

        def call(*arguments: int) -> Any:
            try:
                return callback(*arguments)
            except BaseException as error:  # noqa: BLE001  ctypes would swallow it: kept, and raised by the caller
                failures.append(error)
                return failed

        return call

    pointers = {name: erased.c_function_type(name)(guarded(name, callbacks[name])) for name in source.functions}
    addresses = {name: int(ctypes.cast(f, ctypes.c_void_p).value or 0) for name, f in pointers.items()}
    return Functions(addresses, (pointers,), failures)
