"""One step of a model with noise, readings or hidden numbers that change, estimated from many drawn outcomes: for
people, not for searches.
"""

from typing import NamedTuple

import numpy as np

from pomdplite import rng
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.mdp.real.changing import ChangingValues
from pomdplite.mdp.real.frozen import freeze
from pomdplite.mdp.real.steps import allocate_step_work, mean_step
from pomdplite.model.compiled import KernelView

OUTCOMES = 1024  # drawn
_VALUES = 256  # of θ that each is compared with, at most


class StepEstimate(NamedTuple):
    """A step under a belief. Noisy next states are draws."""

    reward: float  # R(b, s, a)
    change: float  # E‖b_e − b‖₁
    next: Words  # [k, s_words] different next states
    chance: Floats  # [k]


def estimated_step(view: KernelView, model: KernelModel, b: Floats, s: Words, a: int) -> StepEstimate:
    """The step (s, a) under the belief b over the rows of `model`; the same whenever it is asked for."""
    frozen = freeze(view, model, b, rng.stream(0), _VALUES)
    if view.has_changing_numbers:
        changing = ChangingValues(model, rows=2 * (_VALUES + 1), values=_VALUES)
        s, (model, frozen) = changing.state(s), changing.begin(model, frozen)
    work = allocate_step_work(model, OUTCOMES, _VALUES)
    reward, change, k = mean_step(model, frozen, work, s.reshape(1, -1), 0, a, 0, OUTCOMES)
    view.raise_fault()
    states, group = np.unique(work.next[:k], axis=0, return_inverse=True)
    return StepEstimate(reward, change, states, np.bincount(group.ravel(), work.chance[:k]).astype(np.float64))
