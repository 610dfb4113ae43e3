"""The bonus of one (s, a) as it is visited again and again: a search over the outcomes, from b₀.

With L(e, θ) the probability of outcome e under θ, n visits lead to as many beliefs as there are different products of n
likelihoods; those that agree to 12 digits are one belief. Each has a probability, by the prior, and a bonus

    RB(b, s, a) / β = E‖b_s' − b‖₁ = Σ_e Σ_θ b(θ) |L(e, θ) − P(e)|                              (Definition 1)
"""

from dataclasses import dataclass

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import TooLargeError

_DIGITS = 12  # to which beliefs must agree to be one
_BELIEFS = 200_000  # most that are held at a time
_NOTHING = 1e-12  # a change that is 0 but for rounding


@dataclass(frozen=True)
class BonusByVisits:
    """E‖b' − b‖₁ of (s, a) after 0, 1, 2, … visits, without β: [visits]."""

    # The arrays end at the last visit that was searched, or after which nothing is left to learn.
    mean: Floats  # over the outcomes of the visits, by the prior
    largest: Floats  # of any outcomes
    smallest: Floats
    recurs: bool  # whether some outcomes lead back to the prior, so that visits need never teach anything
    monotone: bool  # whether no outcome of a visit increases it: Assumption 1, for visits of (s, a) alone


def expected_changes(b: Floats, likelihood: Floats) -> Floats:
    """E‖b_e − b‖₁ for each of several beliefs [belief, θ] and the likelihoods of one step [e, θ]."""
    chance = b @ likelihood.T
    return np.einsum("bt,bet->b", b, np.abs(likelihood[None] - chance[:, :, None]))


def bonus_by_visits(prior: Floats, likelihood: Floats, visits: int, until: float = 0.0) -> BonusByVisits:
    """The bonus of a step with these likelihoods [e, θ] for up to so many visits, while there is something to learn.

    until  a mean bonus below which the search ends as well
    """
    b, weight = prior[None, :], np.ones(1)
    found: list[tuple[float, float, float]] = []
    recurs, monotone = False, True
    bonus = expected_changes(b, likelihood)
    for n in range(visits + 1):
        found.append((float(weight @ bonus), float(bonus.max()), float(bonus.min())))
        recurs = recurs or (n > 0 and bool(np.any(np.abs(b - prior).max(axis=1) < 10.0**-_DIGITS)))
        if n == visits or bonus.max() < _NOTHING or found[-1][0] < until:
            break
        joint = b[None] * likelihood[:, None, :]
        chance = joint.sum(axis=-1)
        possible = chance > 0
        if int(possible.sum()) > _BELIEFS:
            raise TooLargeError(
                f"{n + 1} visits of (s, a) lead to more than {_BELIEFS:,} beliefs; search fewer visits."
            )
        after = joint[possible] / chance[possible][:, None]
        before, bonus = np.broadcast_to(bonus, chance.shape)[possible], expected_changes(after, likelihood)
        monotone = monotone and bool(np.all(bonus <= before + _NOTHING))
        _, first, group = np.unique(np.round(after, _DIGITS), axis=0, return_index=True, return_inverse=True)
        weight = np.bincount(group.ravel(), weights=(chance * weight)[possible]).astype(float)
        b, bonus = after[first], bonus[first]
    mean, largest, smallest = np.array(found).T
    return BonusByVisits(mean, largest, smallest, recurs, monotone)
