"""How the package's kernels are compiled, and the array types that they share.

Every kernel is compiled once for all models and kept in Numba's on-disk cache (docs/decisions/0001). Python calls
kernels; kernels call inner and inlined kernels. Those are kept as part of the kernels that call them, and are compiled
on their own only if Python calls them too, as tests do.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numba import config, types
from numba.core.registry import CPUDispatcher
from numpy.typing import NDArray

from pomdplite.compile.storage import keep_on_disk

F = TypeVar("F", bound=Callable[..., Any])

Words = NDArray[np.uint64]  # records as kernels see them: rows of 8-byte words
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Small = NDArray[np.int32]  # indices of states, rows, components


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    """A function that is compiled once, whatever numbers its callers in other kernels pass.

    To Numba, the 0 in f(x, 0) has a type of its own, and so have a variable and an item of an array of 32-bit integers:
    it would compile f for each of them.
    """

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Called by Numba to compile a call in another kernel, with the types of the arguments."""
        return super().get_call_template([_widened(argument) for argument in args], kws)


def _widened(argument: Any) -> Any:
    argument = types.unliteral(argument)
    return types.int64 if isinstance(argument, types.Integer) and argument.signed else argument


class _InnerKernel(_Kernel):
    """A kernel for other kernels: the code that unpacks Python objects can take longer to compile than the kernel."""

    @cached_property
    def _for_python(self) -> Any:
        return kernel(self.py_func)

    def __call__(self, *args: Any) -> Any:
        return self._for_python(*args)


def _compiled(function: F, **options: Any) -> F:
    """No kernel is passed as a function: none has a C entry point. Division by zero gives inf or nan, as in NumPy."""
    if config.DISABLE_JIT:
        return function
    options = {"nopython": True, "boundscheck": None, "error_model": "numpy", "no_cfunc_wrapper": True, **options}
    if options.get("no_cpython_wrapper"):
        return cast(F, _InnerKernel(function, targetoptions=options))
    return cast(F, keep_on_disk(_Kernel(function, targetoptions=options)))


def kernel(function: F) -> F:
    """Compile a function that Python calls, cached on disk.

    A kernel allocates nothing, so Numba need not count references to its arrays: that alone made expanding
    a state-action five times as fast.
    """
    return _compiled(function, _nrt=False)


def allocating_kernel(function: F) -> F:
    """The same for a function that makes arrays."""
    return _compiled(function)


def inner(function: F) -> F:
    """A kernel that only other kernels call."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True)


def inlined(function: F) -> F:
    """A kernel that is built into each kernel that calls it: passing a record of arrays costs more than it does."""
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, forceinline=True)


def reordered(function: F) -> F:
    """An inlined kernel whose sums may be computed in any order, so that the compiler can use vector instructions.

    The order is fixed at compile time: on one machine the results are always the same.
    """
    reorder = {"reassoc", "contract", "nnan", "nsz"}
    return _compiled(function, _nrt=False, no_cpython_wrapper=True, forceinline=True, fastmath=reorder)
