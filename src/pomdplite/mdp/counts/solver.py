"""Solves the internal-reward MDP of unknown probabilities exactly, on one graph for all steps and episodes.

The graph depends on the model alone, and an update changes the numbers of one distribution. So the values of the last
step are nearly right, and only what the change can have reached is solved again (sweeping.py). If that is much of all,
policy iteration goes over all states (mixing.py). Few states are always solved so, by elimination (elimination.py).
"""

import math

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.counts.bonuses import BonusRule, Evidence, expected_change
from pomdplite.mdp.counts.elimination import MOST_STATES, elimination_room, iterate_policies
from pomdplite.mdp.counts.mixing import mix_bonuses, mix_policies, mixing_room
from pomdplite.mdp.counts.sweeping import (
    EVALUATED,
    SETTLED,
    SOLVED,
    TOO_LONG,
    CountedMdp,
    all_solved,
    empty_queue,
    join_all,
    join_states_of,
    pair_values,
    read_backwards,
    settle,
)
from pomdplite.mdp.distinct_steps import ALL, allocate_step_values, evaluate_steps
from pomdplite.mdp.reachable import STATE_LIMIT, build
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.value_iteration import TOLERANCE
from pomdplite.model.compiled import KernelView

_PAIRS = 20_000_000  # state-actions evaluated between two readings of the clock


class CountsSolver:
    """Value iteration on the mean MDP of a belief about unknown probabilities, with a bonus for exploring.

    rule     the bonus; that of POMDP-lite by default
    limit    the most states
    numbers  the most numbers in their distinct steps
    """

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, rule: BonusRule = expected_change,
        tolerance: float = TOLERANCE, limit: int = STATE_LIMIT, numbers: float = math.inf,
        deadline: Deadline = NO_DEADLINE,
    ) -> None:  # fmt: skip
        if gamma >= 1:
            raise UsageError(
                f"{view.model.name}: planning with unknown probabilities needs a discount below 1, or a horizon."
            )
        self.view, self.gamma, self.beta, self.rule = view, float(gamma), float(beta), rule
        self.tolerance, self.limit, self.numbers, self.deadline = tolerance, limit, numbers, deadline
        # A state's residual is at most γ times the threshold, which leaves an error of at most γ / (1 − γ) times it.
        self._threshold = tolerance * min(1.0, (1 - gamma) / gamma) if gamma > 0 else tolerance
        hidden = view.model.hidden
        self._prior_totals: Floats = np.append(np.add.reduceat(hidden.counts, hidden.offsets[:-1]), 0.0)
        self._build(view.root())

    def _build(self, root: Words) -> None:
        self.reachable = build(self.view, root, limit=self.limit, numbers=self.numbers, deadline=self.deadline)
        distinct, steps = self.reachable.distinct, self.reachable.distinct_count
        self._backwards = read_backwards(self.reachable.graph, distinct)
        self._means = allocate_step_values(distinct)  # bonus: the chance D of different outcomes
        values = self._means._replace(bonus=np.zeros(steps), internal=np.zeros(steps))
        self._mdp = CountedMdp(self.reachable.graph, distinct, values, np.zeros(steps, np.bool_), self.gamma)
        self._queue = empty_queue(self.reachable.states)
        self._room = elimination_room(min(self.reachable.states, MOST_STATES))
        self._mixing = mixing_room(self.reachable.states)
        self._component = distinct.component[:steps].astype(np.int64)
        self._by_component = np.argsort(self._component, kind="stable")
        sorted_components = self._component[self._by_component]
        self._first_step = np.searchsorted(sorted_components, np.arange(len(self._prior_totals) + 1))
        self._b: Floats | None = None  # the belief that the values are for, and its scale of bonuses
        self._scale: Floats | None = None
        self._prior: tuple[Floats, Floats, Floats, Floats] | None = None  # scale, belief, values, bonus parts

    def use_beta(self, beta: float) -> None:
        """Solve for this β from now on."""
        self.beta, self._b, self._prior = float(beta), None, None

    def reset(self, prior: Floats, seed: int) -> None:
        """Start from the solution for the prior, so that an episode does not depend on earlier ones."""
        if self._prior is None or not np.array_equal(self._prior[1], prior):
            self._b = None
            scale = 1.0 / (1.0 + self._prior_totals)
            self._update(scale, prior)
            self._prior = scale, prior.copy(), self._queue.v.copy(), self._queue.bonus.copy()
        scale, b, v, bonus = self._prior
        self._evaluate(scale, b, None)
        self._b, self._scale = b.copy(), scale.copy()
        self._queue.v[:], self._queue.bonus[:] = v, bonus
        self._queue.told[0], self._queue.told[1] = v, bonus

    @property
    def evaluated(self) -> int:
        """State-actions evaluated so far: work as a count, the same on every machine."""
        return int(self._queue.at[EVALUATED])

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Solve for the belief with the mean b, whose counts are in the scale of the bonuses."""
        state = self.reachable.find(s)
        if state < 0:  # a world other than the model led to a state that the model never reaches
            self._build(s)
            state = self.reachable.find(s)
        before = int(self._queue.at[SOLVED])
        self._update(kernel_model.bonus_scale, b)
        pairs, first = self.reachable.actions(state), int(self.reachable.graph.first[state])
        q, bonus = np.zeros(len(pairs)), np.zeros(len(pairs))
        pair_values(self._mdp, state, self._queue, q, bonus)
        steps = self.reachable.graph.step[pairs]
        return Solution(
            solver=self.method,
            actions=self.reachable.graph.action[pairs],
            q=q[pairs - first],
            bonus_part=bonus[pairs - first],
            mean_reward=self._means.reward[steps],
            mean_bonus=self._mdp.values.bonus[steps],
            states=self.reachable.states - 1,
            solved=int(self._queue.at[SOLVED]) - before,
            residual=self.gamma * self._threshold,
        )

    @property
    def method(self) -> str:
        """How it solves, in words."""
        return "policy iteration" if self.reachable.states <= MOST_STATES else "value iteration"

    @property
    def values(self) -> Floats:
        """Ṽ of every state of the graph; the first is END."""
        return self._queue.v

    def _update(self, scale: Floats, b: Floats) -> None:
        """Bring all values up to date with a belief."""
        changed = None
        if self._b is not None and self._scale is not None:
            changed = self._changed(scale, b)
            if len(changed) == 0:
                return
        steps = self._evaluate(scale, b, changed)
        self._b = None  # until all is solved
        if self.reachable.states <= MOST_STATES:
            iterate_policies(self._mdp, self._queue, *self._room)
        else:
            self._sweep(None if changed is None else steps)
        self._b, self._scale = b.copy(), scale.copy()

    def _sweep(self, steps: Ints | None) -> None:
        """Solve what a change of these steps, or of all steps, can have reached."""
        if steps is None:
            join_all(self._queue)
        else:
            join_states_of(self._backwards, steps, self._queue)
        self.deadline = self.deadline.again()
        while (ended := settle(self._mdp, self._backwards, self._queue, self._threshold, _PAIRS)) != SETTLED:
            self.deadline.check(f"{self.view.model.name}: value iteration")
            if ended == TOO_LONG:
                self._mix()

    def _mix(self) -> None:
        """Solve all states."""
        self._mixing.rounds[0] = 0
        for kernel in (mix_policies, mix_bonuses):
            while not kernel(self._mdp, self._queue, self._mixing, self._threshold, _PAIRS):
                self.deadline.check(f"{self.view.model.name}: policy iteration")
        all_solved(self._queue)

    def _changed(self, scale: Floats, b: Floats) -> Ints:
        """The distributions whose counts differ from those of the present values."""
        rows = np.searchsorted(self.view.table.offsets, np.flatnonzero(self._b != b), side="right") - 1
        return np.union1d(rows, np.flatnonzero(self._scale != scale))

    def _evaluate(self, scale: Floats, b: Floats, changed: Ints | None) -> Ints:
        """The numbers of the steps of these distributions, or of all of them; returns their steps."""
        bits, steps = ALL, self._by_component
        if changed is not None:
            bits = np.uint64(np.bitwise_or.reduce(np.left_shift(np.uint64(1), (changed % 64).astype(np.uint64))))
            first, last = self._first_step[changed], self._first_step[changed + 1]
            steps = np.concatenate([self._by_component[i:j] for i, j in zip(first, last, strict=True)])
        evaluate_steps(self.view.kernel_model, self.reachable.distinct, b, 0.0, self._means, bits)
        component = self._component[steps]
        total = 1.0 / scale[component] - 1.0
        found = self.rule(Evidence(total, total - self._prior_totals[component], self._means.bonus[steps]))
        closed = np.zeros(len(steps), np.bool_) if found.closed is None else found.closed
        bonus = self.beta * found.extra
        self._mdp.values.bonus[steps], self._mdp.closed[steps] = bonus, closed
        self._mdp.values.internal[steps] = np.where(closed, 0.0, self._means.reward[steps]) + bonus
        return steps
