"""From a model's Python functions to machine code that kernels call.

For each function a small wrapper of its fixed signature (abi.py) is written into a generated module, derived from the
table of model functions (wrappers.py). The module lives in the cache folder under a name that is a hash of everything
it depends on (digest.py), so that Numba finds its machine code on disk and a second process compiles nothing.
"""

import logging
import sys
import types
from collections.abc import Callable
from typing import Any

import numba

from pomdplite.compile.cache import compiled_afresh, stored_module
from pomdplite.compile.definition import Definition, KernelFunctions
from pomdplite.compile.digest import digest, helpers
from pomdplite.compile.errors import explain
from pomdplite.compile.wrappers import argument_types, module_text
from pomdplite.errors import ModelError

log = logging.getLogger("pomdplite")

_loaded: dict[str, KernelFunctions] = {}  # by digest; models of one class share their code, parameters are passed in


def compiled(definition: Definition) -> KernelFunctions:
    """Compile the model's functions, or load them from the cache folder."""
    if not definition.bounds_check:
        log.warning("%s: bounds checking is off; a wrong index reads or ruins memory", definition.title)
    text = module_text(definition)
    code = digest(definition, text)
    if code.key in _loaded:
        return _loaded[code.key]
    stem = f"model_{code.key}"
    path = stored_module(code, text, definition.title) or f"<{stem}>"
    module = types.ModuleType(stem)
    module.__file__ = str(path)
    sys.modules[stem] = module  # cached machine code names the module of its functions
    # Only the generated wrappers call these functions, so they need no entry points for Python and C.
    options = {
        "error_model": "python", "boundscheck": definition.bounds_check, "no_cpython_wrapper": True,
        "no_cfunc_wrapper": True,
    }  # fmt: skip
    jitted = {
        name: numba.njit(_with_compiled_helpers(f, stem, options), forceinline=True, **options)
        for name, f in definition.functions.items()
    }
    module.__dict__.update({f"user_{name}": f for name, f in jitted.items()})
    module.__dict__.update(STATE=definition.state, THETA=definition.theta, MEMORY=definition.memory)
    module.__dict__.update(READING=definition.reading, STATE_SPREAD=definition.noise.spread)
    module.__dict__.update(ACTION=None if definition.actions is None else definition.actions.dtype)
    module.__dict__.update(READING_SPREAD=definition.reading_noise.spread)
    try:
        with compiled_afresh(code.stored):
            exec(compile(text, str(path), "exec"), module.__dict__)  # noqa: S102
    except Exception as error:  # noqa: BLE001  Numba reports some mistakes with its own errors, some with KeyError
        raise explain(definition, jitted, argument_types(definition), error) from None
    addresses = {name: int(getattr(module, name).address) for name in definition.functions}
    _loaded[code.key] = KernelFunctions(addresses, (module,), key=code.key if code.unseen is None else None)
    return _loaded[code.key]


def _with_compiled_helpers(
    function: Callable[..., Any], module: str, options: dict[str, Any], callers: tuple[Callable[..., Any], ...] = ()
) -> Callable[..., Any]:
    """The same function, calling compiled versions of the plain Python helpers that it uses.

    Its symbols carry the generated module's name: two versions of a user's function that are loaded into one
    process must not share a symbol.
    """
    if function in callers:
        raise ModelError(f"{function.__name__} calls itself; compiled model functions must use loops instead.")
    scope = dict(function.__globals__)
    for name, value in helpers(function):
        if isinstance(value, types.FunctionType):
            scope[name] = numba.njit(_with_compiled_helpers(value, module, options, (*callers, function)), **options)
    copy = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = module
    copy.__qualname__ = function.__qualname__
    return copy
