"""The rows of Z that were computed last: P(· | y, θ', a) for a state y, a value of θ and an action.

Where θ changes, the states s = (x, maps) are many and their x few, so the same rows of Z are needed for most of them.
With many observations, computing a row costs more than anything else that is done with it. Rows are kept where their
hash says, and a new one replaces what is there: memory is fixed, and a row that is found holds the very numbers that
the model wrote.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, inlined
from pomdplite.mdp import memory
from pomdplite.mdp.hash_table import hash_row

_FEWEST_OBSERVATIONS = 16  # with fewer, computing a row is as fast as finding it
_MOST_BYTES = 1 << 26
_SHARE = 0.02  # of the limit on memory


class ObservationRows(NamedTuple):
    """Room for a power of two of rows; if it is one, nothing is kept."""

    key: Words  # [row, x_words + theta_words + 1] y, θ', and the action + 1
    sought: Words  # [1, x_words + theta_words + 1]
    z: Floats  # [row × (observations + 1)] one row after the other, null last in each


def allocate_observation_rows(model: KernelModel) -> ObservationRows:
    """Room for the rows of a few x, where it pays to keep them."""
    words, rows = model.x_words + model.theta.shape[1] + 1, 1
    if model.observations >= _FEWEST_OBSERVATIONS:
        row = 8 * (words + model.observations + 1)
        fits = min(_MOST_BYTES, _SHARE * memory.limit()) / row
        while rows < 4 * model.theta.shape[0] * model.actions and 2 * rows <= fits:
            rows *= 2
    return ObservationRows(
        key=np.zeros((rows, words), np.uint64),
        sought=np.zeros((1, words), np.uint64),
        z=np.zeros(rows * (model.observations + 1)),
    )


@inlined
def observation_row(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int, rows: ObservationRows) -> int:
    """Z: where in `rows.z` the probabilities P(· | y[j], θ' = theta[t], a) begin."""
    if rows.key.shape[0] == 1:
        abi.observation(model, y, j, theta, t, a, rows.z, 0)
        return 0
    key, sought, words = rows.key, rows.sought, theta.shape[1]
    for w in range(words):
        sought[0, w] = theta[t, w]
    for w in range(model.x_words):
        sought[0, words + w] = y[j, w]
    sought[0, words + model.x_words] = np.uint64(a + 1)
    at = np.int64(hash_row(sought, 0) & np.uint64(key.shape[0] - 1))
    first = int(at) * (model.observations + 1)
    for w in range(key.shape[1]):
        if key[at, w] != sought[0, w]:
            abi.observation(model, y, j, theta, t, a, rows.z, first)
            for i in range(key.shape[1]):
                key[at, i] = np.uint64(0) if abi.faulty(model) else sought[0, i]
            break
    return first
