"""The binary interface of a model, and the only module that handles addresses.

Kernels hold states as rows of 8-byte words and know a model only as a `KernelModel`: a table of function addresses and
the table of hidden values. The functions at the end of this module are what kernels call: they turn rows into
addresses and supply defaults. `record_at` and `array_at` turn addresses back into the records and arrays that the
user's functions read and write, for the generated wrappers (codegen.py); `memory` does so for interpreted functions.

Slots, signatures and calls are derived from the table of model functions (model/functions.py).

With NUMBA_DISABLE_JIT=1 the same calls go through ctypes, so a debugger can step through everything.
"""

import ctypes
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from pomdplite.compile.jit import Floats, Ints, Words, inlined
from pomdplite.model.functions import FAILED as FAILED
from pomdplite.model.functions import FUNCTIONS, ModelFunction

# Slots of KernelModel.functions.
PARAMETERS = 0  # the block of the model's parameters
SLOTS = {function.name: slot for slot, function in enumerate(FUNCTIONS, start=1)}
OBSERVATION, TERMINAL, LEGAL, HEURISTIC, POLICY, MOVE, UPPER, PREFERRED, REMEMBER = (
    SLOTS[name]
    for name in (
        "observation", "terminal", "legal", "heuristic", "policy", "move", "upper", "preferred", "remember",
    )
)  # fmt: skip


class KernelModel(NamedTuple):
    """A model as kernels see it. A *row* is one value of one component of θ."""

    functions: Words  # [slot] addresses; 0 where the model does not define a function
    theta: Words  # [row, theta_words] the record of θ with this row's component at this row's value
    offsets: Ints  # [component + 2] rows of component c: offsets[c]:offsets[c + 1]; last block: "no component"
    map_word: Ints  # [row] word of the state that holds the present value for this initial value
    map_shift: Words  # [row] its place in that word
    map_mask: Words  # [component + 1] its width, as a mask
    x_words: int  # words of x
    s_words: int  # words of s: x and the maps from initial to present hidden values
    next_states: int  # most next states of one (x, θ, a)
    actions: int
    observations: int  # observation number `observations` is null, "no observation"
    evolves: bool  # θ changes (deterministically)
    h_words: int  # words of the memory of the hints


# ---------------------------------------------------------------------- memory, as Python sees it


def data_address(array: Any) -> int:
    """The address of an array's data."""
    return int(array.ctypes.data)


def memory(address: int, dtype: np.dtype[Any], count: int) -> Any:
    """The array of `count` items at an address, as a view."""
    buffer: Any = (ctypes.c_char * (count * dtype.itemsize)).from_address(address)
    return np.frombuffer(buffer, dtype, count) if count else np.zeros(0, dtype)


_CTYPES: dict[str, Any] = {"uint64": ctypes.c_uint64, "int64": ctypes.c_int64, "float64": ctypes.c_double}


def _c_type(function: ModelFunction) -> Any:
    return ctypes.CFUNCTYPE(_CTYPES[function.return_type], *(_CTYPES[t] for t in function.argument_types))


def callback(function: ModelFunction, python: Callable[..., Any]) -> tuple[int, Any]:
    """The address at which kernels can call a Python function, and the object to keep for as long as they do."""
    pointer = _c_type(function)(python)
    return int(ctypes.cast(pointer, ctypes.c_void_p).value or 0), pointer


# ---------------------------------------------------------------------- calls by address

# call.<function>(functions, …) calls the model function at its slot with the model's parameters and the arguments
# that follow m. A module, because kernels resolve the attributes of modules when they are compiled.
call: Any = ModuleType("call")

if numba.config.DISABLE_JIT:

    def address(table: Any, i: int) -> int:
        """The address of row i of an array."""
        return data_address(table) + i * int(table.strides[0])

    def _caller(function: ModelFunction) -> Any:
        c_type, kinds = _c_type(function), function.argument_types[1:]

        def caller(functions: Words, *arguments: Any) -> Any:
            plain = [float(v) if kind == "float64" else int(v) for v, kind in zip(arguments, kinds, strict=True)]
            return c_type(int(functions[SLOTS[function.name]]))(int(functions[PARAMETERS]), *plain)

        return caller

else:

    @intrinsic
    def _pointer(typing_context, address):  # type: ignore[no-untyped-def]
        """An integer address as a void pointer."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            return builder.inttoptr(args[0], cgutils.voidptr_t)

        return types.voidptr(types.uint64), codegen

    as_pointer: Any = _pointer

    @intrinsic
    def address(typing_context, table, i):  # type: ignore[no-untyped-def]
        """The address of row i of an array, without touching its reference count."""

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            array = context.make_array(signature.args[0])(context, builder, args[0])
            base = builder.ptrtoint(array.data, context.get_value_type(types.uint64))
            stride = builder.extract_value(array.strides, 0)
            return builder.add(base, builder.mul(args[1], stride))

        return types.uint64(table, types.int64), codegen

    def _caller(function: ModelFunction) -> Any:
        """The intrinsic that calls a model function; Numba reads its arity from its signature."""
        returned = getattr(types, function.return_type)
        taken = [getattr(types, name) for name in function.argument_types[1:]]
        slot = SLOTS[function.name]

        def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
            from llvmlite import ir

            word = context.get_value_type(types.uint64)
            table = context.make_array(signature.args[0])(context, builder, args[0]).data
            code, parameters = (
                builder.load(builder.gep(table, [context.get_constant(types.intp, at)])) for at in (slot, PARAMETERS)
            )
            function_type = ir.FunctionType(
                context.get_value_type(signature.return_type), [word, *(argument.type for argument in args[1:])]
            )
            return builder.call(builder.inttoptr(code, function_type.as_pointer()), [parameters, *args[1:]])

        def definition(typing_context, functions, *arguments):  # type: ignore[no-untyped-def]
            return returned(functions, *taken), codegen

        names = ["typing_context", "functions", *list(function.arguments)[1:]]
        definition.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
        )
        definition.__name__ = f"call_{function.name}"
        return intrinsic(definition)

    # For the generated wrappers: addresses back to what the user's functions see.

    @njit
    def record_at(address, dtype):  # type: ignore[no-untyped-def]
        """The record of this dtype at an address."""
        return carray(as_pointer(address), 1, dtype)[0]

    @njit
    def array_at(address, shape, dtype):  # type: ignore[no-untyped-def]
        """The array of this shape and dtype at an address."""
        return carray(as_pointer(address), shape, dtype)


for _function in FUNCTIONS:
    setattr(call, _function.name, _caller(_function))

# ---------------------------------------------------------------------- what kernels call

# A record is row i of a table of words: x and y of tables of states (s starts with x), θ of model.theta or of a table
# of the caller's.


@inlined
def transition(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, y: Words, p: Floats) -> int:
    """T: write the next states of (x, θ, a) into the rows of y and their probabilities into p; return how many."""
    return call.transition(model.functions, address(x, i), address(theta, t), a, address(y, 0), address(p, 0))


@inlined
def observation(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int, z: Floats) -> int:
    """Z: write P(o | y, θ', a) into z, null last."""
    if model.functions[OBSERVATION] == 0:
        for o in range(model.observations):
            z[o] = 0.0
        z[model.observations] = 1.0
        return 0
    return call.observation(model.functions, address(y, j), address(theta, t), a, address(z, 0))


@inlined
def reward(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int) -> float:
    """R(x, θ, a)."""
    return call.reward(model.functions, address(x, i), address(theta, t), a)


@inlined
def terminal(model: KernelModel, x: Words, i: int) -> bool:
    """Whether x ends the episode."""
    return model.functions[TERMINAL] != 0 and call.terminal(model.functions, address(x, i)) == 1


@inlined
def legal(model: KernelModel, x: Words, i: int, a: int) -> bool:
    """Whether action a is allowed in x."""
    return model.functions[LEGAL] == 0 or call.legal(model.functions, address(x, i), a) == 1


@inlined
def depends(model: KernelModel, x: Words, i: int, a: int) -> int:
    """The block of θ that (x, a) depends on: a component; the last, "no component"; one more for an invalid answer."""
    none = model.offsets.shape[0] - 2
    if none == 1:
        return 0
    component = call.depends(model.functions, address(x, i), a)
    if component == -1:
        return none
    return component if 0 <= component < none else none + 1


@inlined
def evolve(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, theta_next: Words) -> int:
    """Write θ' = φ(θ, x, a) into theta_next[0]."""
    return call.evolve(model.functions, address(x, i), address(theta, t), a, address(theta_next, 0))


@inlined
def has_heuristic(model: KernelModel) -> bool:
    """Whether the model estimates values."""
    return model.functions[HEURISTIC] != 0


@inlined
def heuristic(model: KernelModel, x: Words, i: int) -> float:
    """The model's estimate of the value of x; only if has_heuristic."""
    return call.heuristic(model.functions, address(x, i))


@inlined
def policy(model: KernelModel, x: Words, i: int, u: float) -> int:
    """A rollout action: the model's own policy, or uniform over the legal actions; -1 if none is legal."""
    if model.functions[POLICY] != 0:
        return call.policy(model.functions, address(x, i), u)
    count = 0
    for a in range(model.actions):
        if legal(model, x, i, a):
            count += 1
    left = int(u * count)
    for a in range(model.actions):
        if legal(model, x, i, a):
            if left == 0:
                return a
            left -= 1
    return -1


@inlined
def prior(model: KernelModel, theta: Words, t: int, stream: Words) -> int:
    """Draw θ into theta[t]."""
    return call.prior(model.functions, address(theta, t), address(stream, 0))


@inlined
def move(model: KernelModel, x: Words, i: int, theta: Words, t: int, stream: Words) -> int:
    """Move theta[t] one step along a Markov chain that preserves P(θ | x); return 1 if it changed."""
    if model.functions[MOVE] == 0:
        return 0
    return call.move(model.functions, address(x, i), address(theta, t), address(stream, 0))


@inlined
def summary(model: KernelModel, theta: Words, t: int, f: Floats) -> int:
    """Write the numbers that describe θ to people into f."""
    return call.summary(model.functions, address(theta, t), address(f, 0))


@inlined
def upper(model: KernelModel, x: Words, i: int, theta: Words, t: int) -> float:
    """The model's upper bound on the value of x to an agent that knows θ; only if functions[UPPER] is not 0."""
    return call.upper(model.functions, address(x, i), address(theta, t))


@inlined
def preferred(model: KernelModel, x: Words, i: int, h: Words, k: int, f: Floats) -> int:
    """Write 1 into f for the actions that the model prefers in x after the history h[k], else 0; return how many.

    If it prefers none, all legal actions count as preferred.
    """
    count = 0
    if model.functions[PREFERRED] != 0:
        count = call.preferred(model.functions, address(x, i), address(h, k), address(f, 0))
    if count == 0:
        for a in range(model.actions):
            f[a] = 1.0 if legal(model, x, i, a) else 0.0
            count += 1 if f[a] > 0.0 else 0
    return count


@inlined
def remember(model: KernelModel, x: Words, a: int, y: Words, j: int, o: int, h: Words, k: int) -> int:
    """Update h[k] by the step (x, a, y, o)."""
    if model.functions[REMEMBER] == 0:
        return 0
    return call.remember(model.functions, address(x, 0), a, address(y, j), o, address(h, k))
