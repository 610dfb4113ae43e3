"""pomdplite: planning under uncertainty when the hidden part of the world is fixed or changes deterministically."""

from pomdplite.beliefs import (
    Belief,
    CategoricalBelief,
    FactoredBelief,
    ParticleBelief,
    RejectionBelief,
    initial_belief,
)
from pomdplite.checking.model import check_model
from pomdplite.checking.report import CheckReport, Finding
from pomdplite.errors import (
    ImpossibleObservationError,
    ModelError,
    NotConvergingError,
    NotPomdpLiteError,
    PomdpLiteError,
    TooLargeError,
    UnsuitableError,
    UsageError,
)
from pomdplite.experiments import (
    Episode,
    Evaluation,
    EvaluationInterrupted,
    Plan,
    ProgressListener,
    Results,
    Step,
    Study,
    TuningResult,
    evaluate,
    plan,
    run_episode,
    tune,
)
from pomdplite.mdp.theorem1 import MdpSet, from_mdps, to_mdps
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, Population, State, independent
from pomdplite.model.tabular import tabular
from pomdplite.planners import (
    PLANNERS,
    BayesOptimal,
    Decision,
    Despot,
    MeanMdp,
    Planner,
    Pomcp,
    PomcpExact,
    PomdpLite,
    Qmdp,
    Sarsop,
    load_planner,
    make_planner,
)
from pomdplite.problems import PROBLEMS, Battleship, Grasp, LightDark, RockSample, Tiger, make_model
from pomdplite.rng import uniform
from pomdplite.views.plots import plot
from pomdplite.views.tables import tables
from pomdplite.worlds import WORLDS, ModelWorld, StepResult, World, make_world

__version__ = "0.1.0"

__all__ = [
    "PLANNERS",
    "PROBLEMS",
    "WORLDS",
    "Battleship",
    "BayesOptimal",
    "Belief",
    "CategoricalBelief",
    "CheckReport",
    "Decision",
    "Despot",
    "Episode",
    "Evaluation",
    "EvaluationInterrupted",
    "FactoredBelief",
    "Finding",
    "Grasp",
    "Hidden",
    "ImpossibleObservationError",
    "LightDark",
    "MdpSet",
    "MeanMdp",
    "Model",
    "ModelError",
    "ModelWorld",
    "NotConvergingError",
    "NotPomdpLiteError",
    "ParticleBelief",
    "Plan",
    "Planner",
    "Pomcp",
    "PomcpExact",
    "PomdpLite",
    "PomdpLiteError",
    "Population",
    "ProgressListener",
    "Qmdp",
    "RejectionBelief",
    "Results",
    "RockSample",
    "Sarsop",
    "State",
    "Step",
    "StepResult",
    "Study",
    "Tiger",
    "TooLargeError",
    "TuningResult",
    "UnsuitableError",
    "UsageError",
    "World",
    "check_model",
    "evaluate",
    "from_mdps",
    "independent",
    "initial_belief",
    "load_planner",
    "make_model",
    "make_planner",
    "make_world",
    "plan",
    "plot",
    "run_episode",
    "tables",
    "tabular",
    "to_mdps",
    "tune",
    "uniform",
]
