"""How the package's kernels are compiled, and the array types that they share.

Every kernel is compiled once for all models and kept in Numba's on-disk cache (docs/decisions/0001).
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

F = TypeVar("F", bound=Callable[..., Any])

Words = NDArray[np.uint64]  # records as kernels see them: rows of 8-byte words
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]
Small = NDArray[np.int32]  # indices of states, rows, components


def kernel(function: F) -> F:
    """Compile a package function, cached on disk; division by zero gives inf or nan as in NumPy.

    A kernel allocates nothing, so Numba need not count references to its arrays: that alone made expanding
    a state-action five times as fast. No kernel is passed as a function, so none needs a C entry point: leaving it out
    saves a sixth of the compile time.
    """
    return cast(F, njit(cache=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True)(function))


def inlined(function: F) -> F:
    """A kernel that is built into each kernel that calls it: passing a record of arrays costs more than it does."""
    return cast(F, njit(cache=True, error_model="numpy", _nrt=False, no_cfunc_wrapper=True, forceinline=True)(function))


def allocating_kernel(function: F) -> F:
    """The same for a function that makes arrays."""
    return cast(F, njit(cache=True, error_model="numpy", no_cfunc_wrapper=True)(function))
