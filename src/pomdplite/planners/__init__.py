"""Planners, by name."""

import inspect
from typing import Any, get_args

import numpy as np

from pomdplite.errors import UsageError, shown
from pomdplite.model.model import Model
from pomdplite.planners.base import ActionValue, Decision, Planner
from pomdplite.planners.bayes_optimal import BayesOptimal
from pomdplite.planners.despot.planner import Despot
from pomdplite.planners.mean_mdp import MeanMdp
from pomdplite.planners.pomcp.planner import Pomcp, PomcpExact
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.planners.qmdp import Qmdp
from pomdplite.planners.sarsop.planner import Sarsop

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
    "parameter_kinds",
]


def make_planner(name: str, model: Model, /, **parameters: Any) -> Planner:
    """The planner with this name. Unknown parameters are an error."""
    _check_name(name)
    for given in parameters:
        _check_kind(name, given, parameters[given])
    return PLANNERS[name](model, **parameters)


def _check_name(planner: str) -> None:
    if planner not in PLANNERS:
        raise UsageError(f"no planner {shown(planner)}; there are {', '.join(PLANNERS)}.")


def parameter_kinds(planner: str, name: str) -> tuple[type, ...]:
    """The types that a planner's parameter accepts; UsageError if there is no such planner or parameter."""
    _check_name(planner)
    known = {p: about for p, about in inspect.signature(PLANNERS[planner]).parameters.items() if p != "model"}
    if name not in known:
        raise UsageError(f"planner {planner} has no parameter {shown(name)}; it has {', '.join(known) or 'none'}.")
    annotation = known[name].annotation
    return get_args(annotation) or (annotation,)


def _check_kind(planner: str, name: str, value: Any) -> None:
    """Refuse a value of a type that the parameter does not accept."""
    kinds = parameter_kinds(planner, name)
    if value is None and type(None) in kinds:
        return
    number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if number and not -(2**63) <= value < 2**63:
        raise UsageError(f"planner {planner}: {name} must fit into 64 bits, unlike {shown(value)}.")
    for kind in kinds:
        if kind is float and (number or isinstance(value, (float, np.floating))):
            return
        if (kind is int and number) or (kind is str and isinstance(value, str)):
            return
    words = {float: "a number", int: "a whole number", str: "a word"}
    wanted = " or ".join(words[kind] for kind in kinds if kind in words)
    raise UsageError(f"planner {planner}: {name} must be {wanted}, not {shown(value)}.")
