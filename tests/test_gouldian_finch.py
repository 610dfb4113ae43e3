"""The Gouldian finch: the authors' numbers, and planners against bounds on the optimal value."""

import numpy as np
import pytest
from known_values import GOULDIAN_REPEATED, GOULDIAN_VECTOR

import pomdplite as pl

EXPERTS = range(4)


@pytest.fixture(scope="module")
def model():
    return pl.GouldianFinch()


def one_step(model, expert, action):
    """The transition matrix and the rewards of an action according to an expert, from the model's functions."""
    plain, theta, a = model.compiled_form.interpreted, model.hidden.record([expert]), model.action_index(action)
    chances, rewards = np.zeros((2, 2)), np.zeros(2)
    for here, persistence in enumerate(("low", "high")):
        x = model.state_record({"persistence": persistence})
        rewards[here] = plain.reward(x, theta, a)
        for y, p in plain.transition(x, theta, a):
            chances[here, y.persistence] += p
    return chances, rewards


@pytest.mark.parametrize("action", GOULDIAN_REPEATED)
def test_repeating_an_action_is_worth_what_the_authors_published(model, action):
    for expert, published in zip(EXPERTS, GOULDIAN_REPEATED[action], strict=True):
        chances, rewards = one_step(model, expert, action)
        assert np.allclose(chances.sum(axis=1), 1.0)
        low, _ = np.linalg.solve(np.eye(2) - 0.9 * chances, rewards)
        assert low == pytest.approx(published, rel=1e-5)  # six digits are published


def test_doing_nothing_costs_nothing_and_is_as_the_authors_table_says(model):
    """The policy never does nothing, so its vectors do not contain these numbers."""
    to_high = [(0.01, 0.5), (0.1, 0.6), (0.2, 0.5), (0.05, 0.5)]
    for expert, expected in zip(EXPERTS, to_high, strict=True):
        chances, rewards = one_step(model, expert, "nothing")
        assert chances[:, 1] == pytest.approx(expected) and rewards.tolist() == [0.0, 20.0]


def test_each_expert_would_repeat_one_action(model):
    """The value to a manager who knows the right model, by value iteration, is that of the best repeated action."""
    for expert, action in zip(EXPERTS, ("fire-and-grazing", "cats", "nest-boxes", "fire-and-grazing"), strict=True):
        steps = [one_step(model, expert, a) for a in model.actions]
        values = np.zeros(2)
        for _ in range(400):
            q = np.array([rewards + 0.9 * chances @ values for chances, rewards in steps])
            values = q.max(axis=0)
        assert [model.actions[a] for a in q.argmax(axis=0)] == [action, action]
        assert values[0] == pytest.approx(GOULDIAN_REPEATED[action][expert], rel=1e-5)


def test_the_optimal_value_is_no_less_than_that_of_the_published_policy(model):
    published = np.mean(GOULDIAN_VECTOR)
    optimal, sarsop = pl.BayesOptimal(model), pl.Sarsop(model, solve_trials=100)
    for planner in (optimal, sarsop):
        planner.reset()
    (low, high), (lower, upper) = optimal.decide().bounds, sarsop.decide().bounds
    assert low < published < lower < upper < high
    assert optimal.decide().name == sarsop.decide().name == "fire-and-grazing"


def test_the_belief_moves_to_the_expert_who_foresaw_it(model):
    planner = pl.PomdpLite(model, beta=8)
    planner.reset()
    planner.update("fire-and-grazing", {"persistence": "low"}, None)
    expected = np.array([0.2, 0.55, 0.7, 0.3]) / 1.75
    assert planner.belief.marginals()[0] == pytest.approx(expected)


def test_pomdp_lite_plus_and_pomdp_lite_earn_more_than_any_one_action(model):
    """A manager who never learns gets at most the mean of a published vector."""
    most = max(np.mean(vector) for vector in GOULDIAN_REPEATED.values())
    plus, lite = pl.PomdpLitePlus(model, sims=1, solve_trials=50), pl.PomdpLite(model, beta=8)
    plus.reset()
    assert plus.decide().bounds[0] > most + 10.0
    result = pl.evaluate(model, lite, episodes=150, seed=1001)
    assert result.mean - 4 * result.stderr > most


def test_success_and_drawings(model):
    high, low = (model.state_record({"persistence": persistence}) for persistence in ("high", "low"))
    theta = model.hidden.record([0])
    assert model.success(high, theta) and not model.success(low, theta)
    lines = model.draw(low, [np.array([0.7, 0.2, 0.1, 0.0])]).splitlines()
    assert lines[0] == "persistence low" and len(lines) == 8
    assert lines[4].startswith("expert 1  70 % " + "█" * 14 + " ") and lines[4].split()[-4:] == [
        "0.01",
        "0.80",
        "0.60",
        "0.40",
    ]
    assert "█" not in lines[7]
