"""Interpolation between the points of a grid: Kuhn's triangulation (Munos and Moore 2002, Section 2).

A cell of d dimensions is cut into d! simplices, one for each order of the fractions f of a state within its cell. If
f_1 ≥ f_2 ≥ … ≥ f_d, the simplex has the d + 1 vertices that one reaches from the lowest corner by steps along axes 1,
2, …, d, and

    V(x) = (1 − f_1) V_0 + (f_1 − f_2) V_1 + … + f_d V_d

which is affine in x on the simplex, continuous, and takes d + 1 values instead of the 2^d corners. The weights are not
negative and sum to one, so that interpolating is the same as moving to a vertex by chance: values at grid points are
those of a finite MDP.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, Words, inlined
from pomdplite.compile.noise import wrapped
from pomdplite.model.grid import Axis


class Axes(NamedTuple):
    """The axes of a grid as kernels see them. Points are numbered with the last axis running fastest."""

    word: Ints  # [axis] the word of s that holds the number
    low: Floats  # [axis] the first point
    spacing: Floats  # [axis]
    points: Ints  # [axis]
    stride: Ints  # [axis] between the numbers of neighbours
    angle: Flags  # [axis]
    periodic: Flags  # [axis]


class Simplex(NamedTuple):
    """Where a state lies: the points around it and their weights."""

    vertex: Ints  # [axis + 1] numbers of points
    weight: Floats  # [axis + 1]
    # scratch
    fraction: Floats  # [axis] descending
    step: Ints  # [axis] to the next point along the axis, in numbers of points


def axes_of(axes: Sequence[Axis]) -> Axes:
    """The axes as arrays."""
    points = np.array([axis.points for axis in axes], np.int64)
    return Axes(
        word=np.array([axis.word for axis in axes], np.int64),
        low=np.array([axis.low for axis in axes], np.float64),
        spacing=np.array([axis.spacing for axis in axes], np.float64),
        points=points,
        stride=np.append(np.cumprod(points[:0:-1])[::-1], 1).astype(np.int64),
        angle=np.array([axis.angle for axis in axes], np.bool_),
        periodic=np.array([axis.periodic for axis in axes], np.bool_),
    )


def allocate_simplex(axes: Axes) -> Simplex:
    """Room for the simplex of one state."""
    d = len(axes.word)
    return Simplex(
        vertex=np.zeros(d + 1, np.int64),
        weight=np.zeros(d + 1),
        fraction=np.zeros(d),
        step=np.zeros(d, np.int64),
    )


@inlined
def locate(axes: Axes, states: Words, s: int, simplex: Simplex) -> None:
    """Find the simplex of states[s]."""
    value, corner = states.view(np.float64), 0
    for k in range(axes.word.shape[0]):
        points, step = axes.points[k], axes.stride[k]
        at = (value[s, axes.word[k]] - axes.low[k]) / axes.spacing[k]
        if axes.periodic[k]:
            at -= points * np.floor(at / points)
            at = at if 0.0 <= at < points else 0.0
            cell = int(at)
            if cell == points - 1:
                step = -cell * axes.stride[k]
        else:
            at = min(at, points - 1.0) if at > 0.0 else 0.0
            cell = min(int(at), points - 2)
        corner += cell * axes.stride[k]
        _insert(simplex, k, at - cell, step)
    simplex.vertex[0] = corner
    above = 1.0
    for k in range(axes.word.shape[0]):
        simplex.weight[k] = above - simplex.fraction[k]
        above = simplex.fraction[k]
        simplex.vertex[k + 1] = simplex.vertex[k] + simplex.step[k]
    simplex.weight[axes.word.shape[0]] = above


@inlined
def _insert(simplex: Simplex, count: int, fraction: float, step: int) -> None:
    """Insert a fraction into those before it, which descend."""
    k = count
    while k > 0 and simplex.fraction[k - 1] < fraction:
        simplex.fraction[k], simplex.step[k] = simplex.fraction[k - 1], simplex.step[k - 1]
        k -= 1
    simplex.fraction[k], simplex.step[k] = fraction, step


@inlined
def write_point(axes: Axes, point: int, states: Words, s: int) -> None:
    """Write the numbers of a point into states[s]."""
    value = states.view(np.float64)
    for k in range(axes.word.shape[0]):
        at = axes.low[k] + axes.spacing[k] * ((point // axes.stride[k]) % axes.points[k])
        value[s, axes.word[k]] = (wrapped(at) if axes.angle[k] else at) + 0.0  # not -0.0: equal numbers, equal words
