"""Calls whose exceptions end with the call: the caller is told that there was one, and goes on.

Numba can compile `try … except` around a call, but that takes three times as long as all the rest of a wrapper. A
compiled function returns whether it raised, beside its result; a caller passes that on by itself. `attempt` and
`raises` make the same call and hand it to the wrapper instead.
"""

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _called(typing_context: Any, function: Any, values: Any) -> Any:
    """The signature of the call, for which the function is compiled; None if it is not a compiled function."""
    if not isinstance(function, types.Dispatcher):
        return None
    return typing_context.resolve_function_type(function, tuple(map(types.unliteral, values)), {})


def _call(context: Any, builder: Any, called: Any, signature: Any, args: Any) -> tuple[Any, Any]:
    """Call the function; what it returned, as LLVM's values: a status, and a result."""
    function, packed = signature.args
    overload = function.dispatcher.overloads[called.args]
    context.active_code_library.add_linking_library(overload.library)
    values = [
        context.cast(builder, value, given, taken)
        for value, given, taken in zip(cgutils.unpack_tuple(builder, args[1]), packed, called.args, strict=True)
    ]
    found: tuple[Any, Any] = context.call_internal_no_propagate(builder, overload.fndesc, called, values)
    return found


@intrinsic
def attempt(typing_context, function, *values):  # type: ignore[no-untyped-def]
    """Whether the compiled function raised when called with the values, and what it returned otherwise."""
    called = _called(typing_context, function, values)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        status, result = _call(context, builder, called, signature, args)
        nothing = context.get_constant_null(called.return_type)
        kept = builder.select(status.is_error, nothing, result)
        return context.make_tuple(builder, signature.return_type, (status.is_error, kept))

    return _typed(called, function, values, lambda: types.Tuple((types.boolean, called.return_type))), codegen


@intrinsic
def raises(typing_context, function, *values):  # type: ignore[no-untyped-def]
    """Whether the compiled function raised when called with the values; what it returned is dropped."""
    called = _called(typing_context, function, values)

    def codegen(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return _call(context, builder, called, signature, args)[0].is_error

    return _typed(called, function, values, lambda: types.boolean), codegen


def _typed(called: Any, function: Any, values: Any, returned: Callable[[], Any]) -> Any:
    return None if called is None else returned()(function, types.StarArgTuple.from_types(tuple(values)))
