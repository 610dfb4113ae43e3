"""Experiments: episodes and their evaluation, studies, tuning."""

from pomdplite.experiments.episodes.episode import Episode, Step, run_episode
from pomdplite.experiments.episodes.evaluate import Evaluation, EvaluationInterrupted, evaluate
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.experiments.portfolio.plan import plan
from pomdplite.experiments.portfolio.standings import Plan
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.study import Study
from pomdplite.experiments.tuning.search import tune
from pomdplite.experiments.tuning.tuning import TuningResult

__all__ = [
    "Episode",
    "Evaluation",
    "EvaluationInterrupted",
    "Plan",
    "ProgressListener",
    "Results",
    "Step",
    "Study",
    "TuningResult",
    "evaluate",
    "plan",
    "run_episode",
    "tune",
]
