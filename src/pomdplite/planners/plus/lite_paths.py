"""Where POMDP-lite goes: its paths in simulated episodes, for the search to begin with.

Paths of a policy that knows little yet lead nowhere in particular, and on a large model it can take long until one of
them is good. POMDP-lite finds good paths at once; backups along them give a policy that the search then improves. They
also tell which components of θ matter, where there are too many for α-vectors over all of them.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import ExactBelief
from pomdplite.compile import abi
from pomdplite.compile.jit import Floats, Words
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import simulate
from pomdplite.model.records import to_words
from pomdplite.planners.base import Planner
from pomdplite.planners.beta import share_of_rewards
from pomdplite.planners.pomdp_lite import PomdpLite

PATHS = 60
_SIMULATIONS = 300  # per step
_LITTLE = 0.01  # of a reward: the weight at which a path ends
_SHARE = 0.25  # of the time for preparing, at most, for playing
_FACTORS = (1.0, 0.25, 4.0)  # of 5 % of the range of rewards: values of β
_TRIED = 4  # paths of each
_SEED = 0


class Visit(NamedTuple):
    """One belief of a path."""

    x: Words
    b: Floats  # [row of the table of hidden values] the probabilities of present values


class LitePaths:
    """Paths of POMDP-lite with a short search, and with the β that has earned most on the first of them."""

    def __init__(self, planner: Planner) -> None:
        """For the model of `planner`, whose preparing this is part of."""
        model = planner.model
        self._planner, self._base = (
            planner,
            PomdpLite(model, 0.0, solver="uct", sims=_SIMULATIONS, solve_time=planner.solve_time),
        )
        self._buffer = allocate_outcomes(model.compiled_form.kernel_view().kernel_model, 1)
        self._paths: list[list[Visit]] = []
        self._returns: dict[float, list[float]] = {}  # of each β
        self._seconds = 0.0  # that playing has taken
        self.stakes = np.zeros(len(model.hidden.components))  # by component: the weight of the steps it decides
        self._steps = np.zeros(len(model.hidden.components))  # by component: their number

    def path(self, number: int) -> list[Visit] | None:
        """A path; None if there are no more, or if playing has taken its share of the time."""
        deadline = self._planner._deadline
        if number == len(self._paths) < PATHS and self._seconds <= _SHARE * deadline.seconds:
            started = deadline.elapsed
            self._paths.append(self._play(number))
            self._seconds += deadline.elapsed - started
        return self._paths[number] if number < len(self._paths) else None

    def _play(self, number: int) -> list[Visit]:
        base, model = self._base, self._base.model
        if number == 0:
            base.prepare_for(self._planner, self._planner._deadline)
            share = share_of_rewards(base.view, self._planner._deadline).value
            self._returns = {share * factor: [] for factor in _FACTORS}
        beta = self._next_beta(number)
        base.solver.use_beta(beta)
        base.reset(number)
        belief, kernel_model = base.belief, base.view.kernel_model
        assert isinstance(belief, ExactBelief)
        episode = len(self._returns[beta])  # each β meets the same hidden values and the same noise
        hidden, noise = (rng.stream(_SEED, episode, rng.PATHS, purpose) for purpose in (rng.HIDDEN, rng.WORLD))
        theta = to_words(model.hidden.dtype, belief.sample(hidden)).reshape(1, -1)
        path, total, weight, gamma = list[Visit](), 0.0, 1.0, base.discount
        for _ in range(model.episode_horizon):
            path.append(Visit(base._x, belief._present()))
            a = base.decide().action
            total += weight * self._expected_reward(belief, base.s, a, weight)
            x = base._x.reshape(1, -1)
            i, o, _ = simulate(kernel_model, x, theta, a, rng.uniform(noise), rng.uniform(noise), self._buffer)
            base.view.raise_fault()
            y, theta, weight = self._buffer.y[i].copy(), self._buffer.theta.copy(), weight * gamma
            if abi.terminal(kernel_model, y.reshape(1, -1), 0) or weight < _LITTLE:
                break
            base._advance(a, y, o)
        self._returns[beta].append(total)
        return path

    def _next_beta(self, number: int) -> float:
        """All in turn, and then the one that has earned most."""
        if number < _TRIED * len(self._returns):
            return list(self._returns)[number % len(self._returns)]
        return max(self._returns, key=lambda beta: float(np.mean(self._returns[beta])))

    def _expected_reward(self, belief: ExactBelief, s: Words, a: int, weight: float) -> float:
        """R(b, x, a). The step counts for the component of θ on which its reward or its next state depends."""
        block, k, _ = belief._outcomes(s, a)
        first, last = belief.kernel_model.offsets[block : block + 2]
        rewards, chances = belief._buffer.reward[: last - first], belief._buffer.chance[:k, : last - first]
        if block < len(self.stakes) and (np.ptp(rewards) > 0 or (np.ptp(chances, axis=1) > 0).any()):
            self.stakes[block] += weight
            self._steps[block] += 1
        return float(belief.probabilities[first:last] @ rewards)

    def most_at_stake(self, values: int) -> tuple[int, ...]:
        """The components of θ on which most depends, no more than have so many joint values."""
        number = 0
        while self.path(number) is not None:
            number += 1
        return self._first_at_stake(np.argsort(-self.stakes, kind="stable"), values)

    def others_at_stake(self, kept: tuple[int, ...], values: int) -> tuple[int, ...]:
        """The components other than these on which most depends, and if there is room those that decide most steps.

        None if nothing depends on others.
        """
        others = [c for c in np.argsort(-self.stakes, kind="stable") if c not in kept]
        if not self.stakes[others].any():
            return ()
        more = [c for c in np.argsort(-self._steps, kind="stable") if c in kept]
        return self._first_at_stake([*others, *more], values)

    def _first_at_stake(self, order: Iterable[int], values: int) -> tuple[int, ...]:
        sizes, first, size = [len(c) for c in self._base.model.hidden.components], list[int](), 1
        for component in order:
            if size * sizes[component] <= values and self.stakes[component] > 0:
                first.append(int(component))
                size *= sizes[component]
        return tuple(sorted(first))

    def share(self, components: Iterable[int]) -> float:
        """The share of these components in what depends on any of them."""
        return float(self.stakes[list(components)].sum() / max(self.stakes.sum(), 1e-300))

    @property
    def earned(self) -> float:
        """The mean return of the β that has earned most."""
        return max(float(np.mean(returns)) for returns in self._returns.values())
