"""Sums and minima over the joint values of θ, and the same for each value of each component by folding.

With w(j) = b(j) α(j), the value of α after an outcome that depends on component c and leaves θ unchanged is

    Σ_v L(v) Σ_{j: v_c(j) = v} w(j),        L(v) = P(x', o | x, v, a),

and the inner sums are found for all components at once: sum w over the values of the first component, add the parts
up into a vector over the rest, and go on with that. Eight sensor actions with two outcomes each cost about as much as
three dot products instead of sixteen. The ratios of the sawtooth rule fold in the same way, with minima for sums.
"""

import numpy as np

from pomdplite.compile.jit import Floats, Ints, inlined, reordered
from pomdplite.mdp.momdp import Joint

_CHUNK = 64  # entries to compare before checking whether the answer is known


@reordered
def dot(a: Floats, b: Floats) -> float:
    """Σ_j a(j) b(j)."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@reordered
def fold_sums(joint: Joint, offsets: Ints, b: Floats, alpha: Floats, w: Floats, part: Floats) -> None:
    """part[v of c] = Σ_{j: v_c(j) = v} b(j) α(j) for every component c; the last entry is the sum over all j.

    `w` is overwritten.
    """
    for j in range(b.shape[0]):
        w[j] = b[j] * alpha[j]
    fold(joint, offsets, w, part)


@reordered
def fold_marginals(joint: Joint, offsets: Ints, b: Floats, w: Floats, part: Floats) -> None:
    """part[v of c] = Σ_{j: v_c(j) = v} b(j) for every component c; the last entry is the sum over all j.

    `w` is overwritten.
    """
    for j in range(b.shape[0]):
        w[j] = b[j]
    fold(joint, offsets, w, part)


@reordered
def fold(joint: Joint, offsets: Ints, w: Floats, part: Floats) -> None:
    """part[v of c] = Σ_{j: v_c(j) = v} w(j) for every component c; the last entry is the sum over all j.

    `w` is overwritten.
    """
    total = 0.0
    for c in range(offsets.shape[0] - 2):
        stride = joint.stride[c]
        total = 0.0
        for v in range(joint.size[c]):
            one = 0.0
            for k in range(v * stride, v * stride + stride):
                one += w[k]
            part[offsets[c] + v] = one
            total += one
        for v in range(1, joint.size[c]):
            for k in range(stride):
                w[k] += w[v * stride + k]
    part[offsets[offsets.shape[0] - 2]] = total


@reordered
def fold_ratios(joint: Joint, offsets: Ints, b: Floats, point: Floats, w: Floats, part: Floats) -> None:
    """part[v of c] = min_{j: v_c(j) = v, point(j) > 0} b(j) / point(j) for every component c; the last is over all j.

    `w` is overwritten.
    """
    for j in range(b.shape[0]):
        w[j] = b[j] / point[j] if point[j] > 0.0 else np.inf
    least = np.inf
    for c in range(offsets.shape[0] - 2):
        stride = joint.stride[c]
        least = np.inf
        for v in range(joint.size[c]):
            one = np.inf
            for k in range(v * stride, v * stride + stride):
                one = min(one, w[k])
            part[offsets[c] + v] = one
            least = min(least, one)
        for v in range(1, joint.size[c]):
            for k in range(stride):
                w[k] = min(w[k], w[v * stride + k])
    part[offsets[offsets.shape[0] - 2]] = least


@reordered
def least_ratio(b: Floats, point: Floats) -> float:
    """min_{j: point(j) > 0} b(j) / point(j)."""
    least = np.inf
    for j in range(b.shape[0]):
        least = min(least, b[j] / point[j] if point[j] > 0.0 else np.inf)
    return least


@reordered
def _least_difference(b: Floats, point: Floats, ratio: float, first: int, last: int) -> float:
    least = 1.0
    for j in range(first, last):
        least = min(least, b[j] - ratio * point[j])
    return least


@inlined
def ratio_reaches(b: Floats, point: Floats, ratio: float) -> bool:
    """Whether b(j) ≥ ratio · point(j) for all j: least_ratio(b, point) ≥ ratio, mostly without computing it."""
    for first in range(0, b.shape[0], _CHUNK):
        if _least_difference(b, point, ratio, first, min(first + _CHUNK, b.shape[0])) < 0.0:
            return False
    return True
