"""Definition 2: the sample complexity ζ(s, a), the visits after which the bonus of (s, a) is below a target accuracy.

The paper's definition speaks of all beliefs that so many visits may lead to. For a prior over noisy steps there is no
such number: in Tiger, hearing the tiger left and right in turn leads back to the prior, again and again. So there are
two: the worst case, which may be infinite, and the visits after which the bonus is small on average over the outcomes.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.analysis.dirichlet import mean_change_by_visits, visits_until_known
from pomdplite.analysis.visits import BonusByVisits, bonus_by_visits
from pomdplite.beliefs import initial_belief
from pomdplite.compile.jit import Floats
from pomdplite.errors import UnsuitableError, UsageError
from pomdplite.mdp.reachable import build
from pomdplite.mdp.reward_range import reward_scale
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import to_words

VISITS = 200  # that are searched


@dataclass(frozen=True)
class SampleComplexity:
    """ζ(s, a): after so many visits of (s, a), and ever more, its bonus is below the target accuracy.

    0 if it is from the beginning; infinite if it is not within the visits that were searched.
    """

    worst: float  # whatever the outcomes
    expected: float  # on average over the outcomes, by the prior
    bonus: BonusByVisits
    threshold: float  # the target accuracy, divided by β as `bonus` is

    @property
    def endless(self) -> bool:
        """Whether the worst case is known to be infinite: some outcomes lead back to the prior, which is not known."""
        return self.bonus.recurs and float(self.bonus.mean[0]) >= self.threshold


def sample_complexity(
    model: Model, s: Any, a: Any, accuracy: float, beta: float, *, visits: int = VISITS
) -> SampleComplexity:
    """ζ(s, a) = f(b₀, s, a, accuracy, β), by search over the outcomes of up to so many visits.

    Unknown transition probabilities have the bonus of Lemma 1, whose mean is known in closed form.

    accuracy  a share of the range of rewards; ε(1 − γ) in Theorem 2
    beta      in the model's units, as for planners
    """
    if not 0 < accuracy < 1:
        raise UsageError(f"accuracy must be between 0 and 1, a share of the range of rewards, not {accuracy!r}.")
    if not (math.isfinite(beta) and beta >= 0):
        raise UsageError(f"beta must be a number of at least 0, not {beta!r}.")
    if visits < 1:
        raise UsageError(f"visits must be at least 1, not {visits!r}.")
    view = model.compiled_form.kernel_view()
    if not view.listed or view.real:
        raise UnsuitableError(
            f"{model.name}: the sample complexity needs listed hidden values and outcomes, but it has "
            f"{view.real or 'hidden values with a distribution'}."
        )
    belief = initial_belief(view)
    block, _, e = belief._outcomes(
        belief._state(to_words(model.state.dtype, model.state_record(s))), model.action_index(a)
    )
    unit = reward_scale(build(view, view.root())).unit
    threshold = accuracy * unit / beta if beta > 0 else math.inf
    size = int(np.diff(view.table.offsets)[block])
    return step_complexity(view, block, belief._buffer.likelihood[:e, :size].copy(), threshold, visits)


def step_complexity(
    view: KernelView, block: int, likelihood: Floats, threshold: float, visits: int, *, to_the_end: bool = True
) -> SampleComplexity:
    """ζ of a step whose outcomes have these likelihoods [e, θ] under the values of one component of θ."""
    if view.counted and block < view.table.blocks:
        hidden = view.model.hidden
        alpha = likelihood @ hidden.counts[hidden.offsets[block] : hidden.offsets[block + 1]]  # by what is seen
        bonus = mean_change_by_visits(alpha, visits if to_the_end else 0)
        worst = _stays_below(bonus.largest, threshold) if to_the_end else math.inf
        return SampleComplexity(worst, visits_until_known(alpha, threshold), bonus, threshold)
    prior = view.table.prior[view.table.offsets[block] : view.table.offsets[block + 1]]
    return complexity_of(prior, likelihood, threshold, visits, to_the_end=to_the_end)


def complexity_of(
    prior: Floats, likelihood: Floats, threshold: float, visits: int, *, to_the_end: bool = True
) -> SampleComplexity:
    """The visits after which E‖b' − b‖₁ stays below a threshold.

    to_the_end  False if only the expected case matters: no visits at all can more than double the mean bonus, so that
                the search may end where it is below half the threshold
    """
    found = bonus_by_visits(prior, likelihood, visits, 0.0 if to_the_end else threshold / 2)
    worst = _stays_below(found.largest, threshold) if to_the_end else math.inf
    return SampleComplexity(worst, _stays_below(found.mean, threshold), found, threshold)


def _stays_below(values: Floats, threshold: float) -> float:
    """The first number of visits from which on the values are below the threshold; infinite if the last one is not."""
    above = np.flatnonzero(values >= threshold)
    if len(above) == 0:
        return 0.0
    return math.inf if above[-1] == len(values) - 1 else float(above[-1] + 1)
