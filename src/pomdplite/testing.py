"""The conformance suite: what every problem and every planner must do. Run it on your own models and planners.

def test_my_robot():
    pomdplite.testing.problem_conforms(MyRobot())
"""

import pickle
from collections.abc import Callable

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import initial_belief
from pomdplite.checking.model import check_model
from pomdplite.experiments import run_episode
from pomdplite.mdp.sampling import pick
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.planners.base import Planner
from pomdplite.views import text
from pomdplite.worlds import ModelWorld


def problem_conforms(model: Model, *, episodes: int = 3, seed: int = 0) -> None:
    """Raise AssertionError, or the model's own error, if the model does not conform."""
    check_model(model, states=200, calls=2000).raise_if_wrong()
    world = ModelWorld(model)
    choices = rng.stream(seed)
    for episode in range(episodes):
        histories = []
        for _ in range(2):  # the same seed gives the same world
            world.reset(seed, episode)
            belief = initial_belief(model)
            history = []
            draws = choices.copy()
            for _ in range(min(30, model.episode_horizon)):
                legal = [a for a in range(len(model.actions)) if model.compiled_form.interpreted.legal(world.x, a)]
                a = legal[pick(np.full(len(legal), 1 / len(legal)), len(legal), rng.uniform(draws))]
                x, outcome = world.x, world.step(a)
                belief.update(x, a, world.x, outcome.o)  # the world never does what the model calls impossible
                assert np.isfinite(belief.probabilities).all()
                for block in range(belief.view.table.blocks):
                    first, last = belief.kernel_model.offsets[block : block + 2]
                    assert abs(belief.probabilities[first:last].sum() - 1) < 1e-9
                history.append((a, outcome.y.tobytes(), outcome.o, outcome.reward))
                if outcome.over:
                    break
            histories.append(history)
        assert histories[0] == histories[1], "the same seed gave two different episodes"
        rng.uniform(choices)
    assert text.drawing(model, model.initial_state(), initial_belief(model).marginals())
    twin = pickle.loads(pickle.dumps(model))
    here, there = (to_words(m.state.dtype, m.initial_state()) for m in (model, twin))
    assert np.array_equal(here, there), "a pickled model starts elsewhere"


def planner_conforms(make: Callable[[Model], Planner], model: Model, *, episodes: int = 3, seed: int = 0) -> None:
    """Raise AssertionError if the planner does not conform on this model."""
    planner, world = make(model), ModelWorld(model)
    first = [run_episode(planner, world, seed, i) for i in range(episodes)]
    again = [run_episode(planner, world, seed, i) for i in reversed(range(episodes))][::-1]
    other = [run_episode(make(model), world, seed, i) for i in range(episodes)]
    for i, episode in enumerate(first):
        same = (again[i].discounted, again[i].steps, other[i].discounted, other[i].steps)
        assert same == (episode.discounted, episode.steps) * 2, "the same seed gave two different episodes"
        assert episode.steps <= model.episode_horizon
    planner.reset(seed)
    decision = planner.decide()
    legal = [a for a in range(len(model.actions)) if model.compiled_form.interpreted.legal(model.initial_state(), a)]
    assert decision.action in legal, "an illegal action was chosen"
    assert sorted(decision.solution.actions.tolist()) == legal, "the decision does not speak of every legal action"
    assert np.isfinite(decision.solution.q).all() and decision.seconds >= 0
    rows = decision.table()
    assert rows[0].q >= decision.value - 1e-6 and all(abs(r.q - r.reward - r.bonus) < 1e-9 for r in rows)
    twin = pickle.loads(pickle.dumps(planner))
    twin.reset(seed)
    assert twin.decide().action == decision.action, "a pickled planner decides otherwise"
