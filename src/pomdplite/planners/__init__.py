"""Planners, by name."""

import inspect
from pathlib import Path
from typing import Any, get_args

import numpy as np

from pomdplite.errors import UsageError, shown
from pomdplite.mdp import memory
from pomdplite.mdp.budget import SOLVE_SECONDS
from pomdplite.model.model import Model
from pomdplite.model.policy_files import is_policy_file
from pomdplite.planners import files
from pomdplite.planners.base import Planner
from pomdplite.planners.bayes_optimal import BayesOptimal
from pomdplite.planners.decision import ActionValue, Decision
from pomdplite.planners.despot.planner import Despot
from pomdplite.planners.mean_mdp import MeanMdp
from pomdplite.planners.most_likely import MostLikely
from pomdplite.planners.pft_dpw.planner import PftDpw
from pomdplite.planners.plus.planner import PomdpLitePlus
from pomdplite.planners.pomcp.planner import Pomcp, PomcpExact
from pomdplite.planners.pomcpow.planner import Pomcpow
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.planners.qmdp import Qmdp
from pomdplite.planners.sarsop.planner import Sarsop
from pomdplite.planners.unknown.beb import Beb
from pomdplite.planners.unknown.psrl import Psrl
from pomdplite.planners.unknown.r_max import RMax
from pomdplite.planners.unknown.variance_bonus import VarianceBonus

_KINDS: tuple[type[Planner], ...] = (
    PomdpLite,
    PomdpLitePlus,
    MeanMdp,
    Qmdp,
    MostLikely,
    Sarsop,
    Pomcp,
    PomcpExact,
    Pomcpow,
    PftDpw,
    Despot,
    BayesOptimal,
    Beb,
    VarianceBonus,
    RMax,
    Psrl,
)
PLANNERS: dict[str, type[Planner]] = {kind.title: kind for kind in _KINDS}
"""The planners by name, as `--planner` takes them; `make_planner` makes one."""

__all__ = [
    "PLANNERS",
    "ActionValue",
    "BayesOptimal",
    "Beb",
    "Decision",
    "Despot",
    "MeanMdp",
    "MostLikely",
    "PftDpw",
    "Planner",
    "Pomcp",
    "PomcpExact",
    "Pomcpow",
    "PomdpLite",
    "PomdpLitePlus",
    "Psrl",
    "Qmdp",
    "RMax",
    "Sarsop",
    "VarianceBonus",
    "accepted",
    "load_planner",
    "make_planner",
    "parameter_kinds",
]


def make_planner(name: str, model: Model, /, **parameters: Any) -> Planner:
    """The planner with this name. Unknown parameters are an error."""
    _check_name(name)
    for given in parameters:
        _check_kind(name, given, parameters[given])
    return PLANNERS[name](model, **parameters)


def load_planner(path: str | Path, model: Model, clock: str | None = None) -> Planner:
    """The planner that `planner.save(path)` wrote, prepared for this model without choosing or solving again.

    The policy in a .policy file, which SARSOP's own program writes, is played by the planner sarsop.

    Another machine may be slower, so preparing what is not in the file, such as graphs, may take as long as by default.
    The clock is the saved planner's unless you give one. UsageError if the file is missing, damaged or made for another
    model.
    """
    if is_policy_file(path):
        played = Sarsop(model, policy=str(path))
        played.use_clock(clock or played.clock)
        played.prepare()
        return played
    stored = files.read_planner(Path(path), model)
    parameters = stored.parameters
    if isinstance(allowed := parameters.get("solve_time"), float):
        parameters = parameters | {"solve_time": max(allowed, SOLVE_SECONDS)}
    try:
        planner = make_planner(stored.title, model, **parameters)
        planner.use_clock(clock or stored.clock)
    except UsageError as error:
        raise UsageError(f"{path} cannot be used: {error}") from None
    planner.use_computed(files.read_computed(Path(path), planner.computed_kinds, memory.limit()), str(path))
    planner.prepare()
    return planner


def accepted(planner: str, **given: Any) -> dict[str, Any]:
    """Those of the given parameters that this planner has; all of them if there is no such planner."""
    known = inspect.signature(PLANNERS[planner]).parameters if planner in PLANNERS else given
    return {name: value for name, value in given.items() if name in known and value is not None}


def _check_name(planner: str) -> None:
    if planner not in PLANNERS:
        choose = "; pomdplite.plan(model) chooses one" if planner == "auto" else ""
        raise UsageError(f"no planner {shown(planner)}; there are {', '.join(PLANNERS)}{choose}.")


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
