"""Models whose next states and observations are listed play the same episodes, step by step, from version to version.

Every number below changes if a kernel draws one random number more, or in another order. Change them only together with
an entry in the changelog that says why results differ.
"""

import hashlib

import pytest

from pomdplite import ModelWorld, make_model, make_planner
from pomdplite.experiments.episodes.episode import Step, run_episode

SEED, EPISODES, MOST_STEPS = 7, 2, 12

# problem, planner, its parameters: the digest of two episodes
PLAYED = [
    ("tiger", "pomdp-lite", {"beta": 20.0}, "fef24c3f6901964d"),
    ("tiger", "pomcp", {"sims": 200, "leaves": "rollouts"}, "8c1c85cb037051f5"),
    ("tiger", "despot", {"sims": 50}, "5fc8800a29f082c8"),
    ("light-dark-bins", "pomdp-lite", {"beta": 20.0, "solver": "uct", "sims": 100}, "efb920454c401625"),
    ("rocksample-4-4", "pomdp-lite", {"beta": 10.0, "solver": "uct", "sims": 100}, "b08ba70d364f02f0"),
    ("rocksample-4-4", "pomcp", {"sims": 200}, "63e82754f4854f2a"),
    ("rocksample-4-4", "despot", {"sims": 50}, "b4d2a88f3ffc2cbf"),
    ("battleship-5-2", "pomdp-lite", {"beta": 1.0, "solver": "uct", "sims": 30}, "3e9c5f683cc9b8a9"),
    ("battleship-5-2", "pomcp", {"sims": 100}, "c8ea5a511bdd2aee"),
    ("grasp", "pomdp-lite", {"beta": 1.0, "solver": "uct", "sims": 100}, "8968af1109716229"),
]


@pytest.mark.parametrize(("problem", "planner", "parameters", "expected"), PLAYED)
def test_listed_models_play_the_same_episodes(problem, planner, parameters, expected):
    assert digest(problem, planner, parameters) == expected


def digest(problem, planner, parameters):
    """States, actions, observations, rewards, and the belief to 9 digits, of two short episodes."""
    model = make_model(problem)
    player, world, lines = make_planner(planner, model, **parameters), ModelWorld(model), []
    model.__dict__["horizon"] = MOST_STEPS

    def note(step: Step) -> None:
        belief = [f"{p:.9f}" for marginal in step.marginals_after for p in marginal]
        state = model.describe_state(step.y)
        lines.append(f"{state} {step.decision.name} {step.observation} {step.reward:.9g} {' '.join(belief)}")

    for episode in range(EPISODES):
        run_episode(player, world, SEED, episode, note)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
