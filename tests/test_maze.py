"""The maze: nothing in it is left to chance, so its values can be added up by hand."""

import itertools

import numpy as np
import pytest

import pomdplite as pl
from pomdplite import analysis
from pomdplite.analysis.policy_values import PolicyNode, PolicyValues


def value_of_reading_both_signs(discount: float) -> float:
    """North, read; to the door and through it; back to the north, read; to the door and through it."""
    steps = [2 + first + 2 + first + 1 + second + 2 for first, second in itertools.product(range(3), repeat=2)]
    return float(np.mean([-(1 - discount**n) / (1 - discount) for n in steps]))


def test_the_best_that_can_be_done_is_to_read_both_signs():
    planner = pl.BayesOptimal(pl.Maze())
    planner.reset()
    assert planner.decide().bounds == pytest.approx((value_of_reading_both_signs(0.95),) * 2)


def test_pomdp_lite_does_so_with_the_problems_own_beta():
    planner = pl.PomdpLite(pl.Maze(), solver="exact")
    planner.reset()
    root = PolicyNode(planner.solver.reachable.find(planner.s), *[planner.belief.probabilities] * 2)
    assert PolicyValues(planner, [root]).bounds(root) == pytest.approx((value_of_reading_both_signs(0.95),) * 2)


def test_every_step_is_known_after_one_visit():
    model, complexity = pl.Maze(), {}
    for row, col, a in itertools.product(range(3), range(4), model.actions):
        if model.compiled_form.interpreted.legal(model.state_record({"row": row, "col": col}), model.action_index(a)):
            complexity[row, col, a] = analysis.sample_complexity(model, {"row": row, "col": col}, a, 1e-3, 8.0).worst
    informative = {(0, 0, "read"), (0, 2, "read"), *((row, col, "east") for row in range(3) for col in (1, 3)),
                   *((row, 2, "west") for row in range(3))}  # fmt: skip
    assert complexity == {pair: float(pair in informative) for pair in complexity}


def test_the_drawing_shows_signs_walls_and_the_agent():
    model = pl.Maze()
    lines = model.draw(model.initial_state(), pl.initial_belief(model).marginals()).splitlines()
    assert lines[0] == " ?  · │ 33│ ?  · │ 33│ ⚑" and lines[1].startswith("[R]")
