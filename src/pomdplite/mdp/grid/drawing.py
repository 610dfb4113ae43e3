"""The outcomes that stand for a noisy step from a grid point: every kept hidden value, with noise that cancels out.

Each value v of the thinned belief gets the same number of outcomes, with the total probability b(v): nothing about θ is
left to chance. Their noise comes in pairs u, −u, scaled so that over all outcomes each number has mean 0 and variance
1, as it has in the model: values that are quadratic in the noise are exact.
"""

import math
from typing import NamedTuple

import numpy as np

from pomdplite import rng
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined
from pomdplite.mdp.real.frozen import MOST_VALUES, FrozenBelief, freeze
from pomdplite.mdp.real.steps import (
    StepWork,
    allocate_step_work,
    begin_step,
    draw_next_state,
    drawn_change,
    mean_step,
)
from pomdplite.model.compiled import KernelView

_VALUES = 8  # of a hidden parameter that is not listed, after thinning
_PAIRS = 8  # of outcomes, at least
_READINGS = 16  # drawn where next states are listed


class Drawing(NamedTuple):
    """How the outcomes of a step are drawn under one belief."""

    frozen: FrozenBelief
    paired: FrozenBelief  # the same with points for noisy steps, in blocks like the belief's
    first: Ints  # [block + 1] the first point of each block
    work: StepWork
    beta: float


def most_values(view: KernelView) -> int:
    """The most values of a block that are kept."""
    return min(MOST_VALUES, int(np.max(np.diff(view.table.offsets)))) if view.listed else _VALUES


def work_of_step(view: KernelView) -> int:
    """How many (outcome, hidden value) an action of one state takes, at most: what its cost grows with."""
    n, model = most_values(view), view.kernel_model
    return n * (model.next_states * n if model.noise.numbers == 0 else 2 * n * math.ceil(_PAIRS / n))


def allocate_drawing_work(view: KernelView) -> StepWork:
    """Room for the outcomes of one step."""
    values = most_values(view)
    return allocate_step_work(view.kernel_model, max(_READINGS, 2 * (_PAIRS + values)), values)


def drawing_for(view: KernelView, model: KernelModel, b: Floats, beta: float, work: StepWork) -> Drawing:
    """Drawing under the belief b over the rows of `model`; the same belief gives the same outcomes."""
    frozen = freeze(view, model, b, rng.stream(0), most_values(view))
    blocks, first = [], [0]
    for block in range(len(frozen.offsets) - 1):
        weight = frozen.weight[frozen.offsets[block] : frozen.offsets[block + 1]]
        blocks.append(_paired(weight, frozen.points[:, 1:]))
        first.append(first[-1] + len(blocks[-1]))
    paired = frozen._replace(points=np.concatenate(blocks))
    return Drawing(frozen, paired, np.array(first, np.int64), work, float(beta))


def _paired(weight: Floats, noise: Floats) -> Floats:
    """The points of a block: the middle of each value's share of [0, 1], and its noise."""
    n = len(weight)
    pairs = math.ceil(_PAIRS / n)
    u = noise[: n * pairs] / np.sqrt(np.repeat(weight / pairs, pairs) @ noise[: n * pairs] ** 2)
    middle = np.repeat(np.cumsum(weight) - weight / 2, 2 * pairs)
    return np.column_stack([middle, np.stack([u, -u], axis=1).reshape(2 * n * pairs, -1)])


@inlined
def step_from(model: KernelModel, drawing: Drawing, states: Words, a: int) -> tuple[float, float, int]:
    """Of (states[0], a): mean reward, E‖b_e − b‖₁, and the number of next states, which are in drawing.work.

    The change is not computed, and 0, if β is 0 and next states are noisy.
    """
    work, paired, change = drawing.work, drawing.paired, 0.0
    if model.noise.numbers == 0:
        return mean_step(model, drawing.frozen, work, states, 0, a, 0, _READINGS)
    component = abi.depends(model, states, 0, a)
    first, last = drawing.first[component], drawing.first[component + 1]
    each = (last - first) / (paired.offsets[component + 1] - paired.offsets[component])
    reward = begin_step(model, paired, work, states, 0, a)
    for i in range(last - first):
        v = draw_next_state(model, paired, work, states, 0, a, first + i, i)
        work.chance[i] = work.b[v] / each
        if drawing.beta > 0.0:
            change += work.chance[i] * drawn_change(model, paired, work, states, 0, a, first + i, v)
    return reward, change, last - first
