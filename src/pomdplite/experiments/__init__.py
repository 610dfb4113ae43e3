"""Episodes, their evaluation, and studies."""

from pomdplite.experiments.episode import Episode, Step, run_episode
from pomdplite.experiments.evaluate import Evaluation, evaluate
from pomdplite.experiments.results import Results
from pomdplite.experiments.study import Study
from pomdplite.experiments.tuning import TuningResult, tune

__all__ = ["Episode", "Evaluation", "Results", "Step", "Study", "TuningResult", "evaluate", "run_episode", "tune"]
