"""Everything that the analysis says about one model and planner: what `pomdplite theory` shows."""

from dataclasses import dataclass

import numpy as np

from pomdplite.analysis.complexity import SampleComplexity, step_complexity
from pomdplite.analysis.drawn_bounds import drawn_bounds
from pomdplite.analysis.frozen import exact_graph, frozen_mdp
from pomdplite.analysis.known import KnownMdp, known_set_of
from pomdplite.analysis.optimistic import Optimism, optimal_bounds, optimal_planner, optimistic_beta, paper_beta
from pomdplite.analysis.suboptimal import SuboptimalSteps, histories
from pomdplite.mdp.reward_range import reward_scale
from pomdplite.planners.base import Planner
from pomdplite.planners.pomdp_lite import PomdpLite

_SHOWN = 4  # pairs whose bonus is shown
_VISITS = 40  # that are shown
_BETAS = 25  # for which Ṽ is compared with V*
_BELOW = 10.0  # times smaller than the planner's β is where these begin


@dataclass(frozen=True)
class PairBonus:
    """The bonus of (s, a) by the number of visits, in the model's units once multiplied by β."""

    label: str
    complexity: SampleComplexity


@dataclass(frozen=True)
class Findings:
    """The analysis of one model, with one planner at its prior and along simulated histories."""

    model: str
    beta: float  # the planner's
    unit: float  # the range of rewards
    gamma: float
    states: int
    pairs: int  # (s, a)
    known: int  # of them at the prior
    accuracy: float  # the largest Ṽ^π − V^π_{M_K} at the prior, as a share of the range of rewards
    optimistic_beta: float | None  # None for unknown probabilities, whose bonus is another one
    paper_beta: float
    bonuses: tuple[PairBonus, ...]  # of some pairs
    optimism: tuple[Optimism, ...]  # at the prior, by β
    history: SuboptimalSteps

    @property
    def epsilon(self) -> float:
        """ε, a share of the range of rewards."""
        return self.history.epsilon

    @property
    def threshold(self) -> float:
        """ε(1 − γ), the bonus below which a pair is known, in the model's units."""
        return self.epsilon * (1 - self.gamma) * self.unit


def findings(planner: PomdpLite, epsilon: float, *, episodes: int = 10, seed: int = 0, delta: float = 0.05) -> Findings:
    """Analyse a planner's model: at the prior, and along so many simulated episodes."""
    reachable = exact_graph(planner)
    best = None if reachable.view.counted else optimal_planner(planner)
    history = histories(planner, best, epsilon, episodes=episodes, seed=seed, delta=delta)
    planner.reset()
    mdp = frozen_mdp(planner)
    inside = known_set_of(mdp, epsilon)
    return Findings(
        model=planner.model.name,
        beta=mdp.beta,
        unit=mdp.scale.unit,
        gamma=mdp.gamma,
        states=reachable.states - 1,
        pairs=inside.pairs,
        known=len(inside),
        accuracy=KnownMdp(inside).accuracy,
        optimistic_beta=None if best is None else optimistic_beta(planner),
        paper_beta=paper_beta(planner),
        bonuses=_bonuses(planner, epsilon),
        optimism=_optimism_by_beta(planner, drawn_bounds(planner) if best is None else _bounds_at_prior(best)),
        history=history,
    )


def _bonuses(planner: PomdpLite, epsilon: float) -> tuple[PairBonus, ...]:
    """The pairs with the largest and the smallest bonus at the prior, and some between, each bonus once."""
    mdp, reachable = frozen_mdp(planner, 1.0), exact_graph(planner)
    informative = np.flatnonzero(mdp.bonus > 1e-9)[::-1]  # from the initial state on, which is the last
    _, first = np.unique(np.round(-mdp.bonus[informative], 9), return_index=True)
    chosen = (
        informative[first][np.unique(np.linspace(0, len(first) - 1, _SHOWN).round().astype(int))] if len(first) else []
    )
    unit, found = reward_scale(reachable).unit, []
    assert planner.beta is not None
    threshold = epsilon * (1 - planner.discount) * unit / planner.beta if planner.beta > 0 else np.inf
    for pair in chosen:
        step = int(reachable.graph.step[pair])
        block, likelihood = int(reachable.distinct.component[step]), reachable.likelihood(step)[1]
        where = reachable.view.describe(reachable.graph.states[mdp.owner[pair]])
        label = f"{reachable.view.model.actions[reachable.graph.action[pair]]}, {where}"
        found.append(PairBonus(label, step_complexity(reachable.view, block, likelihood, threshold, _VISITS)))
    return tuple(found)


def _bounds_at_prior(best: Planner) -> tuple[float, float]:
    best.reset()
    return optimal_bounds(best)


def _optimism_by_beta(planner: PomdpLite, bounds: tuple[float, float]) -> tuple[Optimism, ...]:
    """Ṽ and V* at the prior, from a β below the planner's own to the paper's."""
    assert planner.beta is not None
    enough = np.inf if planner.view.counted else optimistic_beta(planner)
    low = min(planner.beta or np.inf, enough, paper_beta(planner)) / _BELOW
    found = []
    for beta in np.geomspace(low, paper_beta(planner), _BETAS):
        mdp = frozen_mdp(planner, float(beta))
        found.append(Optimism(mdp.beta, float(mdp.values[mdp.state]), bounds, mdp.scale.unit))
    return tuple(found)
