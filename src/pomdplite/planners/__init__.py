"""Planners, by name."""

import inspect
from typing import Any

from pomdplite.errors import UsageError
from pomdplite.model import Model
from pomdplite.planners.base import ActionValue, Decision, Planner
from pomdplite.planners.bayes_optimal import BayesOptimal
from pomdplite.planners.despot import Despot
from pomdplite.planners.mean_mdp import MeanMdp
from pomdplite.planners.pomcp import Pomcp, PomcpExact
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.planners.qmdp import Qmdp
from pomdplite.planners.sarsop import Sarsop

_KINDS: tuple[type[Planner], ...] = (PomdpLite, MeanMdp, Qmdp, Sarsop, Pomcp, PomcpExact, Despot, BayesOptimal)
PLANNERS: dict[str, type[Planner]] = {kind.title: kind for kind in _KINDS}

__all__ = [
    "PLANNERS",
    "ActionValue",
    "BayesOptimal",
    "Decision",
    "Despot",
    "MeanMdp",
    "Planner",
    "Pomcp",
    "PomcpExact",
    "PomdpLite",
    "Qmdp",
    "Sarsop",
    "make_planner",
]


def make_planner(name: str, model: Model, **parameters: Any) -> Planner:
    """The planner with this name; parameters that it does not have are refused."""
    if name not in PLANNERS:
        raise UsageError(f"no planner {name!r}; there are {', '.join(PLANNERS)}.")
    kind = PLANNERS[name]
    known = [p for p in inspect.signature(kind).parameters if p != "model"]
    for given in parameters:
        if given not in known:
            raise UsageError(f"planner {name} has no parameter {given!r}; it has {', '.join(known) or 'none'}.")
    return kind(model, **parameters)
