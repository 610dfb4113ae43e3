"""How much can be earned in an episode: a bound that no planner exceeds, and a scale for the distance from it.

    known  Σ_θ b(θ) V_θ(x₀), the value if θ were known; without discount, that of as many steps as an episode has
    least  the highest value at x₀ of a policy that repeats one action (the first legal one where it is illegal)
    most   the bound: `known`, or a lower one that a planner has found

The gap of a planner is what it earns less than `most`, as a part of the distance from `least` to `known`. It is 0 % if
no planner earns more. Unlike a share of `most` it has a meaning whatever the signs are, and it does not change if
rewards are scaled.
"""

import logging
import math
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp.budget import NO_DEADLINE, Deadline, OutOfTimeError
from pomdplite.mdp.full_information import full_information_values, policy_values, repeated_action
from pomdplite.mdp.momdp import Momdp, momdp_form
from pomdplite.mdp.undiscounted import bound_of_cut_episodes, has_cut_episodes, horizon_values
from pomdplite.model.model import Model

log = logging.getLogger("pomdplite")

CHEAP = 2_000_000  # (x, θ, a) whose values are computed in about a second
_NOTHING = 1e-9  # of a value: a distance that is due to rounding
_INEXACT = 1e-3  # of a value: how inexact `known` and `least` may be, since iteration and episodes end


class Yardsticks(NamedTuple):
    """What no planner exceeds on average, and the two ends of the scale for gaps."""

    most: float
    finder: str | None  # the planner that has found this bound; None if it is `known`
    known: float | None = None
    least: float | None = None

    def tightened(self, other: "Yardsticks") -> "Yardsticks":
        """The same with the bound of the other, if it is lower."""
        lower = other.most < self.most - _NOTHING * max(1.0, abs(self.most))
        return self._replace(most=other.most, finder=other.finder) if lower else self

    @property
    def scale(self) -> float | None:
        """The distance from `least` to `known`; None if there is none."""
        if self.known is None or self.least is None:
            return None
        distance = self.known - self.least
        return distance if distance > self._inexact else None

    @property
    def _inexact(self) -> float:
        return _INEXACT * max(1.0, abs(self.most))

    def gap(self, mean: float) -> float | None:
        """The gap of a planner that earns so much; None if there is one, but no scale for it."""
        if self.scale is None:
            return 0.0 if mean >= self.most - self._inexact else None
        return max(0.0, (self.most - mean) / self.scale)

    def text(self, mean: float, stderr: float = 0.0) -> str:
        """The bound, and the gap of a planner that earns so much, for people."""
        why = "if the hidden value were known" if self.finder is None else f"(a bound found by {self.finder})"
        said, gap = f"at most {self.most:.2f} is possible {why}", self.gap(mean)
        if gap is None or self.scale is None:
            return said if self.known is None or self.least is None else f"{said}; repeating one action earns as much"
        error, digits = 100 * stderr / self.scale, 1 if gap < 0.1 else 0
        noise = f" ± {error:.{digits}f}" if 0 < error < math.inf else ""
        end = "there" if self.finder is None else f"to knowing the hidden value ({self.known:.2f})"
        start = f"from repeating one action ({self.least:.2f})"
        way = f"{end} {start}" if self.finder is None else f"{start} {end}"
        return f"{said}; the gap is {100 * gap:.{digits}f}{noise}% of the way {way}"


def yardsticks(model: Model, *, work: int = CHEAP, deadline: Deadline = NO_DEADLINE) -> Yardsticks | None:
    """The yardsticks of a model; None if computing them takes more than so many (x, θ, a), or too long."""
    try:
        found = known_values(model, work, deadline)
        if found is None:
            return None
        momdp, values = found
        root = momdp.reachable.find(momdp.view.root())
        least = _least(momdp, root, deadline)
    except OutOfTimeError as why:
        log.debug("%s", why)
        return None
    most = float(momdp.prior @ values[root])
    if not has_cut_episodes(model):
        _, most = within_horizon(model, (0.0, most), values)
    return Yardsticks(most, None, most, least) if math.isfinite(most) else None


def known_values(model: Model, work: int, deadline: Deadline) -> tuple[Momdp, Floats] | None:
    """The mixed-observability form and V_θ(x); None if that takes more than so many (x, θ, a), or does not converge.

    Without discount, V_θ(x) is what as many steps earn as an episode has. Steps with noise have no such form.
    OutOfTimeError if it takes longer than it may.
    """
    if model.compiled_form.definition.noise.count > 0:
        return None
    most = work // (max(1, model.hidden.size or 1) * len(model.actions))
    try:
        momdp = momdp_form(model, limit=most, values=work, observed=False, deadline=deadline)
        if has_cut_episodes(model):
            return momdp, horizon_values(momdp, model.episode_horizon, deadline=deadline)[0]
        return momdp, full_information_values(momdp, model.discount, deadline=deadline)
    except OutOfTimeError:
        raise
    except (TooLargeError, NotConvergingError) as why:
        log.debug("%s", why)
        return None


def within_horizon(model: Model, bounds: tuple[float, float], values: Floats) -> tuple[float, float]:
    """Bounds on the value of an episode that ends at the model's horizon H, given those without a horizon.

    A policy that is followed for H steps, and then the best one, earns no more than the best one earns, so the first H
    steps earn at most γ^H max_x −V(x) more. Likewise they earn at most γ^H max_x V(x) less.
    """
    weight = model.discount**model.episode_horizon
    low, high = bounds
    return low - weight * max(0.0, float(values.max())), high + weight * max(0.0, -float(values.min()))


def bounds_of_episodes(
    momdp: Momdp, discount: float, bounds: tuple[float, float], values: Floats
) -> tuple[float, float]:
    """Bounds on the value of an episode, given those of a planner that plans with this discount, without a horizon.

    Where it is not the model's, they say nothing about episodes, and only knowing θ gives a bound.
    """
    model = momdp.view.model
    low, high = within_horizon(model, bounds, values)
    if not has_cut_episodes(model):
        return low, high
    return low if discount == model.discount else -math.inf, bound_of_cut_episodes(momdp)


def _least(momdp: Momdp, root: int, deadline: Deadline) -> float | None:
    found, model = [], momdp.view.model
    for action in range(len(model.actions)):
        pairs = repeated_action(momdp, action)
        try:
            if has_cut_episodes(model):
                choice = np.column_stack([pairs, pairs + 1])
                values, _ = horizon_values(momdp, model.episode_horizon, choice, deadline=deadline)
            else:
                values = policy_values(momdp, pairs, model.discount, deadline=deadline)
        except NotConvergingError as why:
            log.debug("%s", why)
            continue
        found.append(float(momdp.prior @ values[root]))
    return max(filter(math.isfinite, found), default=None)  # without discount, an action may lose forever
