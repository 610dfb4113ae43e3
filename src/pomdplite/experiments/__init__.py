"""Episodes and their evaluation."""

from pomdplite.experiments.episode import Episode, Step, run_episode
from pomdplite.experiments.evaluate import Evaluation, evaluate

__all__ = ["Episode", "Evaluation", "Step", "evaluate", "run_episode"]
