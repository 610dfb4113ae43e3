"""The listed action that is nearest to given values."""

import numpy as np

from pomdplite.compile.jit import Floats, kernel


@kernel
def nearest_point(points: Floats, values: tuple[float, ...]) -> int:
    """The action whose point is nearest, the first of several; -1 if a value is not finite.

    points   [1 + action, field] the scale of every field, then the values of every action times the scale
    """
    best, found = np.inf, -1
    for i in range(1, points.shape[0]):
        distance = 0.0
        for k in range(points.shape[1]):
            difference = points[0, k] * values[k] - points[i, k]
            distance += difference * difference
        if distance < best:
            best, found = distance, i - 1
    return found
