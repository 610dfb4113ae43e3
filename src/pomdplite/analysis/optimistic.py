"""Lemma 3 (Optimistic): Ṽ(b, s) against V*(b, s), and the β for which the first is never smaller.

The paper asks for β = O(|S|²|A| / (1 − γ)²). With rewards in [0, 1],

    β ≥ γ / (2(1 − γ))

is enough, for every prior and without the paper's assumption on the bonus, and no smaller β will do (docs/theory.md has
the proof and the model that needs all of it).
"""

from dataclasses import dataclass

from pomdplite.analysis.drawn_bounds import drawn_bounds
from pomdplite.analysis.frozen import exact_graph, frozen_mdp
from pomdplite.errors import TooLargeError, UnsuitableError
from pomdplite.mdp.reward_range import reward_scale
from pomdplite.planners.base import Planner
from pomdplite.planners.bayes_optimal import BayesOptimal
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.planners.sarsop.planner import Sarsop

_SECONDS = 60.0  # that BayesOptimal may take
_CLOSE = 0.01  # of the range of rewards: bounds on V* that are further apart say too little


@dataclass(frozen=True)
class Optimism:
    """Ṽ and V* at one (b, s), in the model's units."""

    beta: float
    internal: float  # Ṽ(b, s)
    optimal: tuple[float, float]  # bounds on V*(b, s)
    unit: float  # the range of rewards

    @property
    def least(self) -> float:
        """Ṽ − V* at least, in the model's units."""
        return self.internal - self.optimal[1]

    @property
    def most(self) -> float:
        """Ṽ − V* at most, in the model's units."""
        return self.internal - self.optimal[0]


def optimal_planner(planner: PomdpLite) -> Planner:
    """A planner whose decisions know V*: BayesOptimal, or SARSOP if the former's bounds at the prior do not meet."""
    unit = reward_scale(exact_graph(planner)).unit
    if planner.view.counted:
        raise UnsuitableError(
            f"{planner.model.name}: V* is computed for listed hidden values, but its probabilities are unknown."
        )
    best: Planner = BayesOptimal(planner.model, solve_time=_SECONDS)
    try:
        gap = _gap(best)
    except TooLargeError as error:
        raise TooLargeError(f"{error.reason}; V* is not known, and the analysis needs a smaller model.") from None
    if gap > _CLOSE * unit:
        best = Sarsop(planner.model, solve_trials=2000)
        gap = _gap(best)
    if gap > _CLOSE * unit:
        raise TooLargeError(
            f"{planner.model.name}: its Bayes-optimal value is known only to within {gap:.3g}, so Ṽ cannot be compared "
            "with V*; the analysis needs a smaller model."
        )
    best.reset()
    return best


def _gap(planner: Planner) -> float:
    planner.reset()
    low, high = optimal_bounds(planner)
    return high - low


def optimal_bounds(planner: Planner) -> tuple[float, float]:
    """Bounds on V* where such a planner is."""
    bounds = planner.decide().bounds
    assert bounds is not None
    return bounds


def optimism(planner: PomdpLite, beta: float | None = None, optimal: Planner | None = None) -> Optimism:
    """Ṽ − V* at the planner's present belief and state, for its own β or another one.

    optimal  knows V* there: one that `optimal_planner` made and that has seen the same steps. By default a new one,
             for a planner that has not taken a step. V* of unknown probabilities is known only to within bounds from
             draws (drawn_bounds.py), which need no planner
    """
    mdp = frozen_mdp(planner, beta)
    if planner.view.counted:
        bounds = drawn_bounds(planner)
    else:
        bounds = optimal_bounds(optimal_planner(planner) if optimal is None else optimal)
    return Optimism(mdp.beta, float(mdp.values[mdp.state]), bounds, mdp.scale.unit)


def optimistic_beta(planner: PomdpLite) -> float:
    """γ/(2(1 − γ)) in the model's units of reward: the least β for which Ṽ ≥ V* whatever the model.

    It is for the bonus of Definition 1; that of unknown probabilities, Lemma 1's, is smaller.
    """
    if planner.model.compiled_form.kernel_view().counted:
        raise UnsuitableError(
            f"{planner.model.name}: this β is for the bonus of Definition 1, which unknown probabilities do not have."
        )
    return reward_scale(exact_graph(planner)).unit * planner.discount / (2 * (1 - planner.discount))


def paper_beta(planner: PomdpLite) -> float:
    """|S|²|A|/(1 − γ)² in the model's units of reward: the paper's order of β, with 1 for the constant of O(·)."""
    reachable = exact_graph(planner)
    states = reachable.states - (0 not in reachable.graph.next)  # END is one of them if there is one
    size = states**2 * len(planner.model.actions)
    return reward_scale(reachable).unit * size / (1 - planner.discount) ** 2
