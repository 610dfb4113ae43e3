"""DESPOT as a planner: a new tree for each step, searched within a budget, then the action with the best lower bound.

a ← argmax_a ℓ(b₀, a), or the default policy's action if ℓ₀(b₀) is at least as good

A tree whose bounds have met is optimal for its scenarios, not for the belief, and 500 scenarios can be far off: an
optimum over few samples is optimistic. So with a budget in seconds, a search that ends early begins again with twice as
many scenarios, for as long as there is time, and the largest set that was solved decides.

With many observations scenarios part at once, and a policy tree then plans for each of them as if it knew θ. The cost λ
of a node prevents this: with λ = κ (μ(b₀) − ℓ₀(b₀)) / K and κ = 1/4 a plan for a single scenario pays for at most four
steps. It is the default where, going by the first step, two of 500 scenarios rarely agree on three outcomes in a row.
"""

import math
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import PARTICLES, initial_belief
from pomdplite.compile import abi
from pomdplite.errors import TooLargeError, UsageError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import SOLVE_SECONDS, Budget
from pomdplite.mdp.solution import Solution
from pomdplite.model.model import Model
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision
from pomdplite.planners.despot.search import build_despot, expand, plant
from pomdplite.planners.despot.tables import bound_tables
from pomdplite.planners.despot.tree import (
    DEEPEST,
    FULL,
    NODES,
    STEPS,
    TRIALS,
    DespotSettings,
    agreement,
    allocate_scratch,
    allocate_tree,
    room_for_root,
    with_scenarios,
)
from pomdplite.rng import stream, uniform

SCENARIOS = 500
XI = 0.95
_ROOT_SHARE = 0.25  # of a step's time that expanding the root may take
_FEWEST_SCENARIOS = 10
_HOPELESS = 10  # times a step's time: an estimate beyond that needs no measurement
_UNLIMITED = 1 << 40
_KAPPA = 0.25  # of the gap at the root, per scenario: the cost of a node where scenarios soon part
_TOGETHER = 3  # steps after which they must not have parted if nodes are to cost nothing


class Despot(Planner):
    """Anytime search of a tree of scenarios. Its bounds are estimates: they hold for the sampled scenarios.

    time, sims  budget per step: seconds (0.1 by default) or trials
    scenarios   K; default: 500, or as many as let the root take no more than a quarter of the time of a step. With a
                budget in seconds they are doubled while there is time, unless you choose K
    pruning     λ, the regularization constant: what each node of the policy tree costs; default: 0, or where scenarios
                part within three steps, a quarter of the gap at the root divided by K
    xi          ξ, the target for the gap at the end of a trial as a fraction of the gap at the root
    particles   draws of θ in the belief, if θ cannot be listed
    solve_time  seconds that preparing may take, once, before the first step; TooLargeError if it needs longer
    """

    title: ClassVar[str] = "despot"

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        scenarios: int | None = None,
        pruning: float | None = None,
        xi: float = XI,
        particles: int = PARTICLES,
        solve_time: float = SOLVE_SECONDS,
    ) -> None:
        super().__init__(model, solve_time)
        self.budget: Budget = Budget.of(time, sims)
        if scenarios is not None and scenarios < 1:
            raise UsageError(f"scenarios must be at least 1, not {scenarios!r}.")
        if pruning is not None and not (math.isfinite(pruning) and pruning >= 0):
            raise UsageError(f"pruning must be at least 0, not {pruning!r}.")
        if not 0 <= xi < 1:
            raise UsageError(f"xi must be at least 0 and below 1, not {xi!r}.")
        self.time, self.sims, self.scenarios = time, sims, scenarios
        self.pruning, self.xi, self.particles = pruning, xi, particles

    @property
    def parameters(self) -> dict[str, Any]:
        """The budget, K, λ, ξ, and the size of a particle belief."""
        return {
            "time": self.time, "sims": self.sims, "scenarios": self.scenarios, "pruning": self.pruning, "xi": self.xi,
            "particles": self.particles, "solve_time": self.solve_time,
        }  # fmt: skip

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.belief = initial_belief(self.view, self.particles)
        self._tables = bound_tables(self.model, self._deadline)
        self._settings = DespotSettings(
            gamma=float(self.model.discount),
            search_depth=self.model.episode_horizon,
            pruning=self.pruning or 0.0,
            xi=float(self.xi),
        )
        self._parting = False
        self._start()
        self._tree = allocate_tree(self.belief.kernel_model, 1, memory.size(self._tables))
        self._allocate(1 if self.scenarios is None else self.scenarios)
        self._refuse_slow_default_policies()
        self._plant()  # compiles the kernels
        started = self.now()
        self._plant()
        self._fit_scenarios(self.now() - started)
        self._search(Budget(None, 1))  # compiles the rest
        self._parting = self.pruning is None and SCENARIOS * agreement(self._tree) ** _TOGETHER < 1.0

    def _refuse_slow_default_policies(self) -> None:
        """Refuse before the first node is expanded if ℓ₀ of its children alone takes longer than a step.

        Where the default policies have to be simulated, each child takes about as long as the root.
        """
        allowed = self.budget.seconds if self.budget.seconds is not None else math.inf
        self._plant_root()
        started = self.now()
        self._plant_root()
        self._refuse_slow_root(len(self.model.actions) * (self.now() - started), _HOPELESS * allowed)

    def _fit_scenarios(self, root_time: float) -> None:
        """Choose K by the time that a root with the present number of scenarios took, unless the user chose it."""
        allowed = self.budget.seconds if self.budget.seconds is not None else math.inf
        if self.scenarios is None:
            self._allocate(max(_FEWEST_SCENARIOS, int(min(SCENARIOS, _ROOT_SHARE * allowed / root_time))))
            root_time *= len(self._tree.seeds)
        self._refuse_slow_root(root_time, allowed)
        if not room_for_root(self.belief.kernel_model, self._tree, len(self._tree.seeds)):
            raise TooLargeError(
                f"{self.model.name}: a tree of {len(self._tree.seeds):,} scenarios × {len(self.model.actions):,} "
                f"actions does not fit within {memory.text(memory.limit())} ({memory.VARIABLE}); use fewer scenarios."
            )

    def _refuse_slow_root(self, root_time: float, allowed: float) -> None:
        if root_time > allowed:
            raise TooLargeError(
                f"{self.model.name}: expanding one node, {len(self.model.actions)} actions × {len(self._tree.seeds)} "
                f"scenarios, takes {root_time:.2g} s, but a step has {self.budget.seconds:g} s; give it more time."
            )

    def _allocate(self, scenarios: int) -> None:
        """Make room for K scenarios."""
        self._tree = with_scenarios(self._tree, scenarios)
        self._scratch = allocate_scratch(self.belief.kernel_model, scenarios, self._settings.search_depth)
        self._stream = stream(0, 1)

    def _begin(self, seed: int) -> None:
        self._stream = stream(seed, 1)

    def _plant_root(self) -> None:
        plant(
            self.belief.kernel_model, self._tree, self._tables, self._scratch, self._settings,
            self.s.reshape(1, -1), self.belief.probabilities, self._stream,
        )  # fmt: skip
        self.view.raise_fault()

    def _plant(self) -> None:
        """A new tree whose root is expanded."""
        self._plant_root()
        if self._parting:
            gap = float(self._tree.mu[0] - self._tree.l_0[0])
            self._settings = self._settings._replace(pruning=_KAPPA * gap / len(self._tree.seeds))
        expand(self.belief.kernel_model, self._tree, self._tables, self._scratch, self._settings, 0)
        self.view.raise_fault()

    def _search(self, budget: Budget) -> bool:
        """Search a new tree; whether it is solved: its bounds have met."""
        clock = budget.start()
        tree, model, scratch = self._tree, self.belief.kernel_model, self._scratch
        self._plant()
        more = True
        while more and (count := clock.portion(int(tree.counts[TRIALS]))) > 0:
            # A trial may expand many nodes: with a budget in seconds, look at the clock between expansions.
            trials, expansions = (count, _UNLIMITED) if budget.seconds is None else (_UNLIMITED, count)
            more = build_despot(model, tree, self._tables, scratch, self._settings, trials, expansions)
            self.view.raise_fault()
        return not more and tree.counts[FULL] == 0

    def _decide(self) -> Decision:
        budget, scenarios = self._search_budget(), len(self._tree.seeds)
        clock, started = budget.start(), self.now()
        solved = self._search(budget)
        decision = self._decision()
        while solved and budget.seconds is not None and self.scenarios is None:
            more, took = 2 * len(self._tree.seeds), self.now() - started
            if clock.left < 2 * took or not room_for_root(self.belief.kernel_model, self._tree, more):
                break
            self._resize(more)
            started = self.now()
            solved = self._search(replace(budget, seconds=clock.left))
            decision = self._decision() if solved else decision
        if len(self._tree.seeds) != scenarios:
            self._resize(scenarios)
        return decision

    @property
    def choices(self) -> tuple[str, ...]:
        """The budget, and whether nodes cost something."""
        parting = "λ is a quarter of the gap at the root per scenario, since scenarios part within three steps"
        return (*super().choices, parting) if self._parting else super().choices

    def _resize(self, scenarios: int) -> None:
        """Make room for another number of scenarios, with the random numbers going on."""
        random = self._stream
        self._allocate(scenarios)
        self._stream = random

    def _decision(self) -> Decision:
        tree, model = self._tree, self.belief.kernel_model
        pairs = slice(int(tree.first_pair[0]), int(tree.first_pair[0] + tree.pairs[0]))
        actions, lower, upper = tree.action[pairs].copy(), tree.pair_l[pairs].copy(), tree.pair_mu[pairs]
        zero = np.zeros(len(actions))
        best = int(np.lexsort((actions, -upper, -lower))[0])
        action, notes = int(actions[best]), self.belief.notes
        if tree.l_0[0] >= lower[best] and model.functions[abi.POLICY] != 0:
            action = int(abi.policy(model, self.s.reshape(1, -1), 0, uniform(self._stream)))
        elif tree.l_0[0] > lower[best]:  # no search beats repeating one action, or the first legal one where it is not
            action = int(tree.repeated[0]) if tree.repeated[0] in actions else int(actions.min())
        if tree.counts[FULL]:
            notes = ("the search ran out of space for new nodes", *notes)
        return Decision(
            action=action,
            solution=Solution(
                solver=f"DESPOT, bounds estimated on {len(tree.seeds)} scenarios",
                actions=actions, q=lower, bonus_part=zero,
                mean_reward=tree.rho[pairs].copy(), mean_bonus=zero, states=int(tree.counts[NODES]),
                simulations=int(tree.counts[TRIALS]), steps=int(tree.counts[STEPS]),
                deepest=int(tree.counts[DEEPEST]), state_value=float(tree.l[0]),
            ),
            action_names=self.model.actions,
            bounds=(float(tree.l[0]), float(tree.mu[0])),
            notes=notes,
        )  # fmt: skip
