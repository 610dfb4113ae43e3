"""The conformance suite: what every problem and every planner must satisfy. Run it on your own models and planners.

def test_my_robot():
    pomdplite.testing.problem_conforms(MyRobot())
"""

import pickle
from collections.abc import Callable

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import initial_belief
from pomdplite.checking.model import check_model
from pomdplite.experiments import Episode, run_episode
from pomdplite.model.model import Model
from pomdplite.planners.base import Planner
from pomdplite.views import text
from pomdplite.worlds import ModelWorld, StepResult

_MAX_STEPS = 30  # of an episode with random actions


def problem_conforms(model: Model, *, episodes: int = 3, seed: int = 0) -> None:
    """Raise AssertionError, or the model's own error, if the model does not conform."""
    check_model(model, states=200, calls=2000).raise_if_wrong()
    world = ModelWorld(model)
    for episode in range(episodes):
        first, again = (_random_episode(world, seed, episode) for _ in range(2))
        assert first == again, "the same seed gave two different episodes"
    assert text.drawing(model, model.initial_state(), initial_belief(model).marginals()), "the model draws nothing"
    twin = pickle.loads(pickle.dumps(model))
    assert twin.initial_state() == model.initial_state(), "a pickled model has a different initial state"


def _random_episode(world: ModelWorld, seed: int, episode: int) -> list[StepResult]:
    """Play random legal actions, and check the belief after each step."""
    model = world.model
    belief = initial_belief(model)
    draws = rng.stream(seed, episode)
    results: list[StepResult] = []
    world.reset(seed, episode)
    while len(results) < min(_MAX_STEPS, model.episode_horizon):
        x = world.x
        legal = legal_actions(model, x)
        a = legal[int(rng.uniform(draws) * len(legal))]
        result = world.step(a)
        results.append(result)
        belief.update(x, a, result.y, result.o)  # raises if the model calls impossible what its own world did
        for marginal in belief.marginals():
            assert np.isfinite(marginal).all(), "a belief is not finite"
            assert not model.hidden.components or abs(marginal.sum() - 1) < 1e-9, "a belief does not sum to 1"
        if result.terminated:
            break
    return results


def planner_conforms(make: Callable[[Model], Planner], model: Model, *, episodes: int = 3, seed: int = 0) -> None:
    """Raise AssertionError if the planner does not conform on this model."""
    planner, world = make(model), ModelWorld(model)
    first = [run_episode(planner, world, seed, i) for i in range(episodes)]
    again = [run_episode(planner, world, seed, i) for i in reversed(range(episodes))][::-1]
    other = [run_episode(make(model), world, seed, i) for i in range(episodes)]
    assert _facts(first) == _facts(again) == _facts(other), "the same seed gave two different episodes"
    assert all(episode.steps <= model.episode_horizon for episode in first)
    planner.reset(seed)
    decision = planner.decide()
    legal = legal_actions(model, model.initial_state())
    assert decision.action in legal, "an illegal action was chosen"
    assert sorted(decision.solution.actions.tolist()) == legal, "the decision does not cover every legal action"
    rows = [row for row in decision.table() if row.q > -np.inf]  # of the others nothing is known yet
    assert rows and np.isfinite([row.q for row in rows]).all() and decision.seconds >= 0
    assert rows[0].q >= decision.value - 1e-6 and all(abs(r.q - r.reward - r.bonus) < 1e-9 for r in rows)
    twin = pickle.loads(pickle.dumps(planner))
    twin.reset(seed)
    assert twin.decide().action == decision.action, "a pickled planner decides differently"


def legal_actions(model: Model, x: object) -> list[int]:
    """The numbers of the actions that are legal in a state."""
    return [a for a in range(len(model.actions)) if model.compiled_form.interpreted.legal(x, a)]


def _facts(episodes: list[Episode]) -> list[tuple[float, int]]:
    """Everything that must not depend on time."""
    return [(episode.discounted, episode.steps) for episode in episodes]
