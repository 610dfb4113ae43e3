"""Episodes, their evaluation, and studies."""

from pomdplite.experiments.episodes.episode import Episode, Step, run_episode
from pomdplite.experiments.episodes.evaluate import Evaluation, evaluate
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.study import Study
from pomdplite.experiments.tuning.tuning import TuningResult, tune

__all__ = ["Episode", "Evaluation", "Results", "Step", "Study", "TuningResult", "evaluate", "run_episode", "tune"]
