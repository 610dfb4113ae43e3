"""The binary interface of a model: the one place where a record becomes an address and back.

Kernels hold states as rows of 8-byte words and know a model only as an `KernelModel`: a table of
function addresses and the table of hidden values. The functions below turn rows into addresses and
call; `record_at` and its kin, used by the generated wrappers (codegen.py), turn addresses back
into the records that the user's functions read and write.

With NUMBA_DISABLE_JIT=1 the same calls go through ctypes, so everything can be stepped through.
"""

import ctypes
from typing import Any, NamedTuple

import numba
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from pomdplite.compile.jit import Floats, Ints, Words, inlined

# Slots of KernelModel.functions.
PARAMETERS, TRANSITION, OBSERVATION, REWARD, TERMINAL, LEGAL, DEPENDS, EVOLVE, HEURISTIC, POLICY = range(10)
PRIOR, MOVE, SUMMARY, UPPER, PREFERRED, REMEMBER = range(10, 16)

FAILED = -1  # returned by a wrapper when the user's function raised
RAISED_IN_DEPENDS = -2  # there -1 means "no component"


class KernelModel(NamedTuple):
    """A model as kernels see it. A *row* is one value of one component of θ."""

    functions: Words  # [16] addresses, in the order above; 0 where the model leaves a function out
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
    h_words: int  # words of what hints remember of the history


# Signatures; every pointer is an unsigned integer.
_A, _I, _F = types.uint64, types.int64, types.float64
SIGNATURES = {
    "transition": _I(_A, _A, _A, _I, _A, _A),  # m, x, theta, a, y, p -> number of next states
    "observation": _I(_A, _A, _A, _I, _A),  # m, y, theta, a, z
    "reward": _F(_A, _A, _A, _I),  # m, x, theta, a
    "terminal": _I(_A, _A),  # m, x
    "legal": _I(_A, _A, _I),  # m, x, a
    "depends": _I(_A, _A, _I),  # m, x, a -> component, or -1
    "evolve": _I(_A, _A, _A, _I, _A),  # m, x, theta, a, theta_next
    "heuristic": _F(_A, _A),  # m, x
    "policy": _I(_A, _A, _F),  # m, x, u -> action
    "prior": _I(_A, _A, _A),  # m, theta, random
    "move": _I(_A, _A, _A, _A),  # m, x, theta, random -> whether it changed
    "summary": _I(_A, _A, _A),  # m, theta, f
    "upper": _F(_A, _A, _A),  # m, x, theta
    "preferred": _I(_A, _A, _A, _A),  # m, x, h, f
    "remember": _I(_A, _A, _I, _A, _I, _A),  # m, x, a, y, o, h
}

_CTYPES: dict[Any, Any] = {_A: ctypes.c_uint64, _I: ctypes.c_int64, _F: ctypes.c_double}


def c_function_type(name: str) -> Any:
    """The ctypes type of the model function `name`."""
    signature = SIGNATURES[name]
    return ctypes.CFUNCTYPE(_CTYPES[signature.return_type], *(_CTYPES[t] for t in signature.args))


if numba.config.DISABLE_JIT:

    def _caller(name: str) -> Any:
        function_type, kinds = c_function_type(name), SIGNATURES[name].args

        def call(address: int, *arguments: Any) -> Any:
            plain = [float(v) if kind is _F else int(v) for v, kind in zip(arguments, kinds, strict=True)]
            return function_type(int(address))(*plain)

        return call

    def address(table: Any, i: int) -> int:
        """The address of row i of an array."""
        return int(table.ctypes.data) + i * int(table.strides[0])

    call_transition = _caller("transition")
    call_observation = _caller("observation")
    call_reward = _caller("reward")
    call_terminal = _caller("terminal")
    call_legal = _caller("legal")
    call_depends = _caller("depends")
    call_evolve = _caller("evolve")
    call_heuristic = _caller("heuristic")
    call_policy = _caller("policy")
    call_prior = _caller("prior")
    call_move = _caller("move")
    call_summary = _caller("summary")
    call_upper = _caller("upper")
    call_preferred = _caller("preferred")
    call_remember = _caller("remember")

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

    def _indirect(context, builder, signature, args):  # type: ignore[no-untyped-def]
        """Call the function at address args[0] with the other arguments."""
        from llvmlite import ir

        result = context.get_value_type(signature.return_type)
        function_type = ir.FunctionType(result, [argument.type for argument in args[1:]])
        return builder.call(builder.inttoptr(args[0], function_type.as_pointer()), args[1:])

    def _typed(name: str) -> Any:
        signature = SIGNATURES[name]
        return signature.return_type(_A, *signature.args), _indirect

    @intrinsic
    def call_transition(typing_context, function, m, x, theta, a, y, p):  # type: ignore[no-untyped-def]
        return _typed("transition")

    @intrinsic
    def call_observation(typing_context, function, m, y, theta, a, z):  # type: ignore[no-untyped-def]
        return _typed("observation")

    @intrinsic
    def call_reward(typing_context, function, m, x, theta, a):  # type: ignore[no-untyped-def]
        return _typed("reward")

    @intrinsic
    def call_terminal(typing_context, function, m, x):  # type: ignore[no-untyped-def]
        return _typed("terminal")

    @intrinsic
    def call_legal(typing_context, function, m, x, a):  # type: ignore[no-untyped-def]
        return _typed("legal")

    @intrinsic
    def call_depends(typing_context, function, m, x, a):  # type: ignore[no-untyped-def]
        return _typed("depends")

    @intrinsic
    def call_evolve(typing_context, function, m, x, theta, a, theta_next):  # type: ignore[no-untyped-def]
        return _typed("evolve")

    @intrinsic
    def call_heuristic(typing_context, function, m, x):  # type: ignore[no-untyped-def]
        return _typed("heuristic")

    @intrinsic
    def call_policy(typing_context, function, m, x, u):  # type: ignore[no-untyped-def]
        return _typed("policy")

    @intrinsic
    def call_prior(typing_context, function, m, theta, random):  # type: ignore[no-untyped-def]
        return _typed("prior")

    @intrinsic
    def call_move(typing_context, function, m, x, theta, random):  # type: ignore[no-untyped-def]
        return _typed("move")

    @intrinsic
    def call_summary(typing_context, function, m, theta, f):  # type: ignore[no-untyped-def]
        return _typed("summary")

    @intrinsic
    def call_upper(typing_context, function, m, x, theta):  # type: ignore[no-untyped-def]
        return _typed("upper")

    @intrinsic
    def call_preferred(typing_context, function, m, x, h, f):  # type: ignore[no-untyped-def]
        return _typed("preferred")

    @intrinsic
    def call_remember(typing_context, function, m, x, a, y, o, h):  # type: ignore[no-untyped-def]
        return _typed("remember")

    # For the generated wrappers: addresses back to what the user's functions see.

    @njit
    def record_at(address, dtype):  # type: ignore[no-untyped-def]
        """The record of this dtype at an address."""
        return carray(as_pointer(address), 1, dtype)[0]

    @njit
    def array_at(address, shape, dtype):  # type: ignore[no-untyped-def]
        """The array of this shape and dtype at an address."""
        return carray(as_pointer(address), shape, dtype)


# What kernels call. A record is row i of a table of words: x and y of tables of states (s starts with x), θ of
# model.theta or of a table of the caller's.


@inlined
def transition(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, y: Words, p: Floats) -> int:
    """Write the next states of (x, θ, a) into the rows of y and their probabilities into p; how many."""
    return call_transition(
        model.functions[TRANSITION], model.functions[PARAMETERS], address(x, i), address(theta, t), a,
        address(y, 0), address(p, 0),
    )  # fmt: skip


@inlined
def observation(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int, z: Floats) -> int:
    """Write P(o | y, θ', a) into z, null last."""
    if model.functions[OBSERVATION] == 0:
        for o in range(model.observations):
            z[o] = 0.0
        z[model.observations] = 1.0
        return 0
    return call_observation(
        model.functions[OBSERVATION], model.functions[PARAMETERS], address(y, j), address(theta, t), a, address(z, 0)
    )


@inlined
def reward(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int) -> float:
    """R(x, θ, a)."""
    return call_reward(model.functions[REWARD], model.functions[PARAMETERS], address(x, i), address(theta, t), a)


@inlined
def terminal(model: KernelModel, x: Words, i: int) -> bool:
    """Whether x ends the episode."""
    if model.functions[TERMINAL] == 0:
        return False
    return call_terminal(model.functions[TERMINAL], model.functions[PARAMETERS], address(x, i)) == 1


@inlined
def legal(model: KernelModel, x: Words, i: int, a: int) -> bool:
    """Whether a may be chosen in x."""
    if model.functions[LEGAL] == 0:
        return True
    return call_legal(model.functions[LEGAL], model.functions[PARAMETERS], address(x, i), a) == 1


@inlined
def depends(model: KernelModel, x: Words, i: int, a: int) -> int:
    """The component of θ that (x, a) depends on; the last block, "no component", if none; one more if that is wrong."""
    none = model.offsets.shape[0] - 2
    if none == 1:
        return 0
    component = call_depends(model.functions[DEPENDS], model.functions[PARAMETERS], address(x, i), a)
    if component == -1:
        return none
    return component if 0 <= component < none else none + 1


@inlined
def evolve(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, theta_next: Words) -> int:
    """Write θ' = φ(θ, x, a) into theta_next[0]."""
    return call_evolve(
        model.functions[EVOLVE], model.functions[PARAMETERS], address(x, i), address(theta, t), a,
        address(theta_next, 0),
    )  # fmt: skip


@inlined
def heuristic(model: KernelModel, x: Words, i: int) -> float:
    """The model's guess of the value of x; call it only where has_heuristic says so."""
    return call_heuristic(model.functions[HEURISTIC], model.functions[PARAMETERS], address(x, i))


@inlined
def has_heuristic(model: KernelModel) -> bool:
    """Whether the model guesses values."""
    return model.functions[HEURISTIC] != 0


@inlined
def policy(model: KernelModel, x: Words, i: int, u: float) -> int:
    """An action to play on with from x: the model's own policy, or uniform over the legal actions; -1 if none."""
    if model.functions[POLICY] != 0:
        return call_policy(model.functions[POLICY], model.functions[PARAMETERS], address(x, i), u)
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
    return call_prior(model.functions[PRIOR], model.functions[PARAMETERS], address(theta, t), address(stream, 0))


@inlined
def move(model: KernelModel, x: Words, i: int, theta: Words, t: int, stream: Words) -> int:
    """Move theta[t] by a step of a Markov chain that leaves its distribution, given x, as it is."""
    if model.functions[MOVE] == 0:
        return 0
    return call_move(
        model.functions[MOVE], model.functions[PARAMETERS], address(x, i), address(theta, t), address(stream, 0)
    )


@inlined
def summary(model: KernelModel, theta: Words, t: int, f: Floats) -> int:
    """Write what a person wants to see of θ into f."""
    return call_summary(model.functions[SUMMARY], model.functions[PARAMETERS], address(theta, t), address(f, 0))


@inlined
def upper(model: KernelModel, x: Words, i: int, theta: Words, t: int) -> float:
    """The model's bound on the value of x to an agent who knows θ; call it only if functions[UPPER] is there."""
    return call_upper(model.functions[UPPER], model.functions[PARAMETERS], address(x, i), address(theta, t))


@inlined
def preferred(model: KernelModel, x: Words, i: int, h: Words, k: int, f: Floats) -> int:
    """Write 1 into f for the actions that the model prefers in x after the history h, and 0 for the others; how many.

    A model that prefers none prefers all that are legal.
    """
    count = 0
    if model.functions[PREFERRED] != 0:
        count = call_preferred(
            model.functions[PREFERRED], model.functions[PARAMETERS], address(x, i), address(h, k), address(f, 0)
        )
    if count == 0:
        for a in range(model.actions):
            f[a] = 1.0 if legal(model, x, i, a) else 0.0
            count += 1 if f[a] > 0.0 else 0
    return count


@inlined
def remember(model: KernelModel, x: Words, i: int, a: int, y: Words, j: int, o: int, h: Words, k: int) -> int:
    """Take the step (x, a, y, o) into h[k]."""
    if model.functions[REMEMBER] == 0:
        return 0
    return call_remember(
        model.functions[REMEMBER], model.functions[PARAMETERS], address(x, i), a, address(y, j), o, address(h, k)
    )
