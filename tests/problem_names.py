"""The registry of problems for tests over all of them: one member of each family, and the others as slow tests."""

import pytest

import pomdplite as pl
from pomdplite.planners.unknown.base import CountsPlanner
from pomdplite.problems import PROBLEMS

# The others are for unknown probabilities alone.
PLANNERS_OF_LISTED_MODELS = [name for name, kind in pl.PLANNERS.items() if not issubclass(kind, CountsPlanner)]

# Members whose size matters: boards of two words, more hidden values than can be listed.
ALSO = {"battleship-10-5", "rocksample-20-20"}


def problem_names(slow: frozenset[str] = frozenset()):
    """All problems, as parameters. Slow are larger members of a family, which are compiled anew for their size."""
    first: dict[type, tuple] = {}
    found = []
    for name in PROBLEMS:
        model = pl.make_model(name)
        layout = model.state.dtype, model.hidden.dtype
        again = first.setdefault(type(model), layout) != layout and name not in ALSO
        found.append(pytest.param(name, marks=pytest.mark.slow if again or name in slow else ()))
    return found
