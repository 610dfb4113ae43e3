"""The analysis of the paper's Section IV, on models small enough to be solved exactly. docs/theory.md walks through it.

The paper assumes rewards in [0, 1]. Here ε and every accuracy are shares of a model's range of rewards, so that they
are the paper's numbers; values, bonuses and β are in the model's own units.
"""

from pomdplite.analysis.complexity import SampleComplexity, sample_complexity
from pomdplite.analysis.dirichlet import belief_change, mean_change, mean_change_bound
from pomdplite.analysis.known import (
    EscapeProbability,
    KnownMdp,
    KnownSet,
    Pair,
    escape_probability,
    known_mdp,
    known_set,
)
from pomdplite.analysis.mistakes import horizon, mistake_bound
from pomdplite.analysis.optimistic import Optimism, optimal_planner, optimism, optimistic_beta, paper_beta
from pomdplite.analysis.suboptimal import HistoryStep, SuboptimalSteps, suboptimal_steps, total_complexity
from pomdplite.analysis.visits import BonusByVisits, bonus_by_visits

__all__ = [
    "BonusByVisits",
    "EscapeProbability",
    "HistoryStep",
    "KnownMdp",
    "KnownSet",
    "Optimism",
    "Pair",
    "SampleComplexity",
    "SuboptimalSteps",
    "belief_change",
    "bonus_by_visits",
    "escape_probability",
    "horizon",
    "known_mdp",
    "known_set",
    "mean_change",
    "mean_change_bound",
    "mistake_bound",
    "optimal_planner",
    "optimism",
    "optimistic_beta",
    "paper_beta",
    "sample_complexity",
    "suboptimal_steps",
    "total_complexity",
]
