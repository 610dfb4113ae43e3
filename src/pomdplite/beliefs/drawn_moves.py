"""Moves of particles whose prior the library knows: Metropolis–Hastings steps on hidden numbers with distributions.

A move either adds Gaussian noise to all continuous numbers, in unconstrained form and with the covariance of the
particles (Roberts, Gelman and Gilks 1997), or draws one listed number anew from its prior. It is accepted on the prior
density, with the Jacobian, and the probability of the history.
"""

from typing import NamedTuple

import numpy as np

from pomdplite import rng
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, inlined, inner, kernel
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.mdp.sampling import History, history_log_probability
from pomdplite.model.compiled import KernelView
from pomdplite.model.distributions import DistributionTable
from pomdplite.model.distributions_kernels import (
    log_prior,
    redraw_listed,
    set_coordinate,
    to_unconstrained,
    unconstrained,
)
from pomdplite.model.spaces import Distributed

_STEP = 2.38  # over √d: the best scale of proposals for a normal target in d dimensions
_FEWEST_DISTINCT = 20  # particles whose covariance says how far to move
_OCTAVES = 20
_RELATIVE, _ABSOLUTE = 1e-9, 1e-18  # added to variances, so that their matrix has a root


class Weighed(NamedTuple):
    """Particles and what they make of the history."""

    theta: Words  # [particle, words]
    earlier: Floats  # [particle] log P(earlier steps | θ)
    last: Floats  # [particle] log P(last step | θ)


class MarkovChain(NamedTuple):
    """What moves leave unchanged, prior · P(earlier steps | θ) · P(last step | θ)^power, and what they propose."""

    table: DistributionTable
    earlier: History
    last: History
    power: float  # from 0 to 1; where the last step is impossible, the product is 0 even for 0
    factor: Floats  # [d, d] root of the proposals' covariance
    octaves: int  # each proposal is scaled down by up to this power of 2, at random
    # scratch
    noise: Floats  # [d]
    z: Floats  # [2, d] the unconstrained numbers, present and proposed
    theta: Words  # [1, words] the proposal


def make_chain(
    hidden: Distributed, factor: Floats, earlier: History, last: History, power: float = 1.0, octaves: int = 0
) -> MarkovChain:
    """A chain with its scratch space."""
    d, proposal = hidden.table.continuous, np.zeros((1, hidden.words), np.uint64)
    return MarkovChain(hidden.table, earlier, last, power, factor, octaves, np.zeros(d), np.zeros((2, d)), proposal)


def adapted_chain(
    view: KernelView, theta: Words, weights: Floats, earlier: History, last: History, power: float = 1.0, *,
    narrow: bool = False,
) -> MarkovChain:  # fmt: skip
    """A chain whose proposals fit these particles; if they lie too close together, of every scale up to the prior's.

    So they do if they are copies of a few; narrow: in any case.
    """
    hidden = view.model.hidden
    if not narrow and not collapsed(hidden, theta):
        return make_chain(hidden, _proposal_factor(hidden.table, theta, weights), earlier, last, power)
    draws = view.table.theta
    wide = _proposal_factor(hidden.table, draws, np.full(len(draws), 1.0 / len(draws)))
    return make_chain(hidden, wide, earlier, last, power, _OCTAVES)


def collapsed(hidden: Distributed, theta: Words) -> bool:
    """Whether so few particles differ that their covariance says nothing."""
    return len(np.unique(theta[:, hidden.table.word[0]])) < _FEWEST_DISTINCT


def _proposal_factor(table: DistributionTable, theta: Words, weights: Floats) -> Floats:
    """A root of the covariance of proposals, from the spread of the particles around the mean of their like.

    Particles are alike if they agree in all listed numbers.
    """
    d = table.continuous
    z = np.zeros((len(theta), d))
    to_unconstrained(table, theta, z)
    if d < len(table.word):
        _, group = np.unique(theta[:, table.word[d:]], axis=0, return_inverse=True)
        group = group.ravel()
        totals = np.maximum(np.bincount(group, weights), 1e-300)
        for c in range(d):
            z[:, c] -= (np.bincount(group, weights * z[:, c]) / totals)[group]
    else:
        z -= weights @ z
    covariance = (z * weights[:, None]).T @ z
    covariance += np.diag(_RELATIVE * np.diag(covariance) + _ABSOLUTE)
    return np.linalg.cholesky(covariance) * (_STEP / np.sqrt(d))


@kernel
def move_drawn(
    model: KernelModel, chain: MarkovChain, particles: Weighed, sweeps: int, stream: Words, out: Outcomes
) -> int:
    """Move every particle this many times; the number of changes."""
    changed = 0
    for i in range(particles.theta.shape[0]):
        for _ in range(sweeps):
            changed += _move_one(model, chain, particles, i, stream, out)
    return changed


@inner
def _move_one(model: KernelModel, chain: MarkovChain, particles: Weighed, i: int, stream: Words, out: Outcomes) -> int:
    prior_ratio = _propose(chain, particles.theta, i, stream)
    last = history_log_probability(model, chain.last, chain.theta, 0, out)
    present = _tempered(chain.power, particles.earlier[i], particles.last[i])
    if last == -np.inf and present > -np.inf:
        return 0
    earlier = history_log_probability(model, chain.earlier, chain.theta, 0, out)
    proposed = _tempered(chain.power, earlier, last)
    ratio = prior_ratio
    if present > -np.inf:
        ratio += proposed - present
    elif proposed > -np.inf:
        ratio = np.inf  # whatever explains the history is better than what does not
    if not np.log(rng.uniform(stream)) < ratio:
        return 0
    same = True
    for w in range(particles.theta.shape[1]):
        same = same and particles.theta[i, w] == chain.theta[0, w]
        particles.theta[i, w] = chain.theta[0, w]
    particles.earlier[i], particles.last[i] = earlier, last
    return 0 if same else 1


@inlined
def _tempered(power: float, earlier: float, last: float) -> float:
    if earlier == -np.inf or last == -np.inf:
        return -np.inf
    return earlier + power * last


@inlined
def _propose(chain: MarkovChain, theta: Words, i: int, stream: Words) -> float:
    """Write a proposal for theta[i] into chain.theta: the logarithm of (prior · chance to be proposed) over θ's own.

    A listed number is proposed as likely as it is under its prior, so that these cancel.
    """
    table, d = chain.table, chain.table.continuous
    listed = table.word.shape[0] - d
    for w in range(theta.shape[1]):
        chain.theta[0, w] = theta[i, w]
    if listed > 0 and rng.uniform(stream) < 0.5:
        redraw_listed(table, d + int(rng.uniform(stream) * listed), chain.theta, 0, stream)
        return 0.0
    scale = 1.0
    if chain.octaves > 0:
        scale = 0.5 ** int(rng.uniform(stream) * (chain.octaves + 1))
    for c in range(d):
        chain.noise[c] = scale * rng.normal_quantile(rng.uniform(stream))
    for c in range(d):
        chain.z[0, c] = unconstrained(table, c, theta, i)
        chain.z[1, c] = chain.z[0, c]
        for k in range(c + 1):
            chain.z[1, c] += chain.factor[c, k] * chain.noise[k]
        set_coordinate(table, c, chain.z[1, c], chain.theta, 0)
    return log_prior(table, chain.z, 1) - log_prior(table, chain.z, 0)
