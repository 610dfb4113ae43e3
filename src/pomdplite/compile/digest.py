"""A digest of everything that a model's machine code depends on.

Compiled code holds the values that its names had when it was compiled: module-level constants, closures, defaults, what
its helpers use in turn, and whatever it reads from modules. Modules are searched by name: every name that occurs in any
of the functions is looked up in every module that they reach, at any depth. That finds too much rather than too little,
however a module came to be where it is used. What cannot be digested is reported (`unseen`), and such code is not kept
on disk. Objects of which Numba has no type cannot be part of compiled code and do not count.

The digest is the same in every process: it contains no addresses, and no order that depends on Python's hash seed.
"""

import enum
import hashlib
import inspect
import re
import sys
import sysconfig
import types
import uuid
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core import types as numba_types
from numba.core.caching import FunctionCache
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.typing.templates import builtin_registry
from numba.core.typing.typeof import Purpose, typeof
from numba.core.withcontexts import objmode_context
from numba.np.ufunc.ufunc_base import UfuncBase

from pomdplite.compile import addresses, attempts, faults, nearest, noise, record_types, storage
from pomdplite.compile.definition import Definition

# Modules whose code is part of a model's machine code.
_BUILT_IN = (addresses, attempts, faults, nearest, noise, record_types)
_FIXED = {"numpy", "numba", *sys.stdlib_module_names} - {"__main__"}  # packages that do not change within a version
_PATHS = sysconfig.get_paths()
_INSTALLED = tuple({_PATHS["purelib"], _PATHS["platlib"]})
_FIXED_FOLDERS = (_PATHS["stdlib"], _PATHS["platstdlib"], *(f"{p}/{name}" for p in _INSTALLED for name in _FIXED))
_ADDRESS = re.compile(r"0x[0-9a-f]{5,}|#[0-9a-f]{5,}")  # in the repr of an object


class CodeDigest(NamedTuple):
    """What identifies a model's machine code."""

    key: str  # the same for the same code in every process, unless something is unseen
    unseen: str | None  # something that cannot be digested; the code must then not outlive this process
    stored: tuple[Any, ...]  # the user's own Numba functions that are cached on disk, where Numba checks only one file


def digest(definition: Definition, text: str) -> CodeDigest:
    """The digest of a model's functions and of the generated module `text` that calls them."""
    found = _Digest()
    found.add(sys.version, numba.__version__, numba.config.BOUNDSCHECK, np.__version__)
    found.add(*(inspect.getsource(module) for module in _BUILT_IN))
    found.add(definition.bounds_check, text)
    action = None if definition.actions is None else definition.actions.dtype
    for layout in (*definition.layouts.values(), definition.noise.spread, definition.reading_noise.spread, action):
        found.add_value(layout)
    for name, function in sorted(definition.functions.items()):
        found.add(name)
        found.add_value(function)
    for function in _extensions():
        found.add_value(function)
    found.add_modules()
    key = found.hash.hexdigest()[:32] if found.unseen is None else uuid.uuid4().hex
    return CodeDigest(key, found.unseen, tuple(found.stored))


def helpers(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """The module-level names that a function uses, with their values."""
    for name in sorted(_names(function.__code__)):
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _names(code: types.CodeType) -> set[str]:
    """Every global or attribute name in a function; also words in it, for getattr."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
        elif isinstance(constant, str) and constant.isidentifier():
            names.add(constant)
    return names


def _extensions() -> Iterator[Any]:
    """The user's functions that teach Numba to compile other functions, methods or attributes (@overload and others).

    Compiled code uses them without naming them, so all of them count.
    """
    for template in (*builtin_registry.functions, *builtin_registry.attributes):
        function = getattr(template, "_overload_func", None)
        if isinstance(function, types.FunctionType) and not _is_fixed(sys.modules.get(function.__module__)):
            yield function


def _is_fixed(module: types.ModuleType | None) -> bool:
    """Whether a module belongs to Python, NumPy or Numba, and not to a user's file of the same name."""
    if module is None or module.__name__.partition(".")[0] not in _FIXED:
        return False
    file = getattr(module, "__file__", None)
    return file is None or file.startswith(_FIXED_FOLDERS)


class _Digest:
    """A hash of values, and of the functions and modules that they lead to."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.unseen: str | None = None
        self.stored: list[Any] = []
        self._seen: dict[int, tuple[int, Any]] = {}  # by id: number, and the object, so that its id stays its own
        self._names: set[str] = set()
        self._modules: list[types.ModuleType] = []

    def add(self, *parts: Any) -> None:
        """Plain values whose repr says everything."""
        for part in parts:
            data = repr(part).encode(errors="surrogatepass")
            self.hash.update(b"%d:" % len(data) + data)

    def add_modules(self) -> None:
        """What the modules hold under names that occur in the functions; both grow while they are searched."""
        done: set[tuple[int, str]] = set()
        while wanted := [(m, n) for m in range(len(self._modules)) for n in sorted(self._names) if (m, n) not in done]:
            for number, name in wanted:
                done.add((number, name))
                try:
                    value = getattr(self._modules[number], name)
                except AttributeError:
                    continue
                except Exception as error:  # noqa: BLE001  a module may compute its attributes
                    self.unseen = f"{self._modules[number].__name__}.{name} ({type(error).__name__})"
                    continue
                self.add("module", number, name)
                self.add_value(value)

    def add_value(self, value: Any) -> None:
        """Any object."""
        if isinstance(value, types.ModuleType):
            self._add_module(value)
        elif isinstance(value, enum.Enum):
            self.add("member", value.name)
            self.add_value(type(value))
        elif value is None or value is Ellipsis or isinstance(value, (bool, range, slice)):
            self.add(value)
        elif isinstance(value, (int, float, complex, str, bytes, bytearray)):
            plain = next(kind for kind in (int, float, complex, str, bytes, bytearray) if isinstance(value, kind))
            self.add(type(value).__name__, plain.__repr__(value))  # a subclass may have a repr of its own
        elif isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
            self.add_value(value.dtype)
            self.add(type(value).__name__, value.shape, hashlib.sha256(value.tobytes()).digest())
        elif isinstance(value, np.dtype):
            self.add("dtype", str(value), value.itemsize, value.alignment, value.isalignedstruct)
            for name in value.names or ():
                self.add(name, value.fields[name][1])  # type: ignore[index]
        elif isinstance(value, (tuple, list)):
            self.add(type(value).__name__, getattr(value, "_fields", None), len(value))
            for item in value:
                self.add_value(item)
        elif isinstance(value, (set, frozenset)):
            self.add(type(value).__name__, len(value), sorted(map(repr, value)))
        elif isinstance(value, dict):
            self.add("dict", len(value))
            for key, item in value.items():
                self.add_value(key)
                self.add_value(item)
        elif self._is_new(value):
            self._add_object(value)

    def _is_new(self, value: Any) -> bool:
        """Whether an object with contents was not digested yet; otherwise its number says which one it is."""
        number = self._seen.setdefault(id(value), (len(self._seen), value))[0]
        self.add("object", number)
        return number == len(self._seen) - 1

    def _add_module(self, module: types.ModuleType) -> None:
        if module.__name__ == "numba" and "objmode" in self._names:
            self.unseen = "Python code in objmode"
        if _is_fixed(module):
            self.add("module", module.__name__)
        elif self._is_new(module):
            self._modules.append(module)

    def _add_object(self, value: Any) -> None:
        """An object that may refer to itself."""
        if isinstance(value, _NAMED) and _is_fixed(sys.modules.get(value.__module__)):
            self.add(value.__module__, value.__qualname__)
        elif isinstance(value, types.FunctionType):
            self._add_function(value)
        elif isinstance(value, Dispatcher):
            self._add_dispatcher(value)
        elif isinstance(value, UfuncBase):
            self._add_universal(value)
        elif isinstance(value, CFunc):
            self.add("cfunc", getattr(value, "_sig"))  # noqa: B009  not in Numba's type stubs
            self.add_value(value.__wrapped__)
        elif hasattr(value, "_defn") and type(value).__name__ == "_Intrinsic":
            self.add_value(value._defn)
        elif isinstance(value, type):
            self._add_class(value)
        elif isinstance(value, numba_types.Type):
            self._add_numba_type(value)
        elif isinstance(value, (types.BuiltinFunctionType, np.ufunc)):
            self.add(getattr(value, "__module__", None), value.__name__)
        else:
            self._add_unknown(value)

    def _add_function(self, function: types.FunctionType) -> None:
        self._names |= _names(function.__code__)
        self._add_code(function.__code__)
        self.add_value(function.__defaults__)
        self.add_value(function.__kwdefaults__)
        for cell in function.__closure__ or ():
            try:
                self.add_value(cell.cell_contents)
            except ValueError:  # a cell that is not filled yet
                self.add("empty")
        for name, value in helpers(function):
            self.add(name)
            self.add_value(value)

    def _add_code(self, code: types.CodeType) -> None:
        self.add(code.co_code, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars, code.co_flags)
        self.add(code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_exceptiontable)
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._add_code(constant)
            else:
                self.add_value(constant)

    def _add_dispatcher(self, value: Any) -> None:
        """An @njit function: its Python function, options and, if they were declared, its signatures."""
        self.add("njit", sorted(value.targetoptions), sorted(value.locals or ()))
        for options in (value.targetoptions, value.locals or {}):
            for name in sorted(options):
                self.add_value(options[name])
        if not value._can_compile:
            self.add([str(signature) for signature in value.nopython_signatures])
        self.add_value(value.py_func)
        if isinstance(value._cache, FunctionCache) and not isinstance(value._cache, storage.MachineCodeCache):
            self.stored.append(value)

    def _add_universal(self, value: Any) -> None:
        """A @vectorize or @guvectorize function; its declared signatures decide how it converts its arguments."""
        inner = value._dispatcher
        self.add("ufunc", getattr(getattr(value, "gufunc_builder", None), "signature", None), value._frozen)
        if value._frozen:
            self.add([str(signature) for signature in inner.overloads])
        for name in sorted(inner.targetoptions):
            self.add(name)
            self.add_value(inner.targetoptions[name])
        self.add_value(inner.py_func)
        if isinstance(getattr(inner, "cache", None), FunctionCache):
            self.stored.append(inner)

    def _add_class(self, value: type) -> None:
        """A class of constants: an enumeration, a named tuple with its defaults, a jitclass, or any other."""
        self.add("class", value.__name__)
        if isinstance(value, enum.EnumMeta):
            members: dict[str, enum.Enum] = dict(value.__members__)
            for name, member in members.items():
                self.add(name, member.name)
                self.add_value(member.value)
        elif hasattr(value, "class_type"):  # a jitclass
            kind = value.class_type
            self.add(kind.class_name)
            for part in (kind.struct, kind.jit_methods, kind.jit_props, kind.jit_static_methods):
                self.add_value(dict(part))
        else:
            self.add_value((getattr(value, "_fields", None), getattr(value, "_field_defaults", None)))
            for base in reversed(value.__mro__):
                if not _is_fixed(sys.modules.get(base.__module__)):
                    for name, constant in vars(base).items():
                        if not name.startswith("__") and isinstance(constant, _CONSTANTS):
                            self.add(name)
                            self.add_value(constant)

    def _add_numba_type(self, value: Any) -> None:
        if isinstance(value, numba_types.Dispatcher):
            self.add_value(value.dispatcher)
        elif _ADDRESS.search(repr(value)):
            self.unseen = f"the type {value}"
        else:
            self.add(str(value))

    def _add_unknown(self, value: Any) -> None:
        """Numba cannot compile in an object that has no type; the contents of any other are unknown."""
        kind = type(value)
        self.add(kind.__module__, kind.__qualname__)
        if value is objmode_context:
            self.unseen = "Python code in objmode"
            return
        try:
            typeof(value, Purpose.constant)
        except (ValueError, TypeError, numba.errors.NumbaError):
            return
        self.unseen = f"an object of type {kind.__module__}.{kind.__qualname__}"


_NAMED = (types.FunctionType, types.BuiltinFunctionType, type, type(np.where))  # told by their names
_CONSTANTS = (
    bool, int, float, complex, str, bytes, tuple, list, set, frozenset, np.ndarray, np.generic, enum.Enum,
    enum.EnumMeta, Dispatcher, UfuncBase,
)  # fmt: skip
