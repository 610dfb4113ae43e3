"""Moves of particles about whose prior only the model knows: whole new draws of θ, accepted on the history.

A draw from the prior is proposed as likely as the prior says, so the prior cancels in the rule of Metropolis and
Hastings and no density is needed. The longer the history, the fewer draws explain it as well as the particle does: a
`move` of the model's own, which changes θ a little, is accepted more often.
"""

import numpy as np

from pomdplite import rng
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Words, kernel
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.mdp.sampling import History, history_log_probability


@kernel
def move_from_prior(
    model: KernelModel, history: History, theta: Words, sweeps: int, stream: Words, out: Outcomes
) -> int:
    """Metropolis–Hastings: propose draws from the prior to every particle, this many times; the number of changes."""
    changed = 0
    for t in range(theta.shape[0]):
        before = history_log_probability(model, history, theta, t, out)
        for _ in range(sweeps):
            for w in range(theta.shape[1]):
                out.other[0, w] = np.uint64(0)
            abi.prior(model, out.other, 0, stream)
            if abi.faulty(model):
                return changed
            after = history_log_probability(model, history, out.other, 0, out)
            u = rng.uniform(stream)
            if (after == -np.inf and before == -np.inf) or (after > -np.inf and np.log(u) < after - before):
                before = after
                changed += 1
                for w in range(theta.shape[1]):
                    theta[t, w] = out.other[0, w]
    return changed
