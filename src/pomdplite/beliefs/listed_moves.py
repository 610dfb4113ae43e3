"""Particles of a listed Θ: draws of its components, and moves that propose a value of one component from its prior."""

import numpy as np

from pomdplite import rng
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, inner, kernel
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.mdp.sampling import History, history_log_probability, pick


@kernel
def move_listed(
    model: KernelModel, history: History, prior: Floats, theta: Words, sweeps: int, stream: Words, out: Outcomes
) -> int:
    """Metropolis–Hastings: propose a value of one component from its prior; the number of changes."""
    components, changed = model.offsets.shape[0] - 2, 0
    for t in range(theta.shape[0]):
        before = history_log_probability(model, history, theta, t, out)
        for _ in range(sweeps):
            for w in range(theta.shape[1]):
                out.other[0, w] = theta[t, w]
            _redraw(model, prior, int(rng.uniform(stream) * components), theta, t, stream)
            same = True
            for w in range(theta.shape[1]):
                same = same and out.other[0, w] == theta[t, w]
            if same:
                continue
            after = history_log_probability(model, history, theta, t, out)
            u = rng.uniform(stream)
            if (after == -np.inf and before == -np.inf) or (after > -np.inf and np.log(u) < after - before):
                before = after
                changed += 1
            else:
                for w in range(theta.shape[1]):
                    theta[t, w] = out.other[0, w]
    return changed


@kernel
def draw_listed(model: KernelModel, prior: Floats, theta: Words, stream: Words) -> None:
    """Independent draws of every component from its prior."""
    none = model.offsets.shape[0] - 2
    for t in range(theta.shape[0]):
        for w in range(theta.shape[1]):
            theta[t, w] = model.theta[model.offsets[none], w]
        for c in range(none):
            _redraw(model, prior, c, theta, t, stream)


@inner
def _redraw(model: KernelModel, prior: Floats, c: int, theta: Words, t: int, stream: Words) -> None:
    """Replace component c of theta[t] by a draw from its prior."""
    first, last = model.offsets[c], model.offsets[c + 1]
    none = model.theta[model.offsets[model.offsets.shape[0] - 2]]
    row = first + pick(prior[first:last], last - first, rng.uniform(stream))
    for w in range(theta.shape[1]):
        mask = np.uint64(0)  # the bits in which the values of this component differ
        for other in range(first, last):
            mask |= model.theta[other, w] ^ none[w]
        theta[t, w] = (theta[t, w] & ~mask) | (model.theta[row, w] & mask)
