"""The acrobot with links of unknown mass: its dynamics beside Gymnasium's, its belief, and planners that swing it up."""

import math

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.testing import problem_conforms

FIELDS = ("angle_1", "angle_2", "speed_1", "speed_2")
UP = 2  # the torque +1


@pytest.fixture(scope="module")
def model():
    return pl.Acrobot()


@pytest.fixture(scope="module")
def world(model):
    pytest.importorskip("gymnasium")
    with pl.make_world("acrobot", model) as found:
        yield found


@pytest.fixture(scope="module")
def env():
    return pytest.importorskip("gymnasium").make("Acrobot-v1").unwrapped


def masses_of(model, mass_1, mass_2):
    theta = np.zeros(1, model.hidden.dtype).view(np.recarray)[0]
    theta.mass_1, theta.mass_2 = mass_1, mass_2
    return theta


def pump(x):
    return UP if x.speed_2 > 0 else 0


# ---------------------------------------------------------------------- dynamics


@pytest.mark.parametrize("fastest", [1.0, 10.0, 28.0])  # radians per second; the limits are 12.6 and 28.3
def test_a_step_is_that_of_gymnasiums_acrobot(model, env, fastest):
    draws, limited, wrapped = np.random.default_rng(1), 0, 0
    for _ in range(100):
        x = draws.uniform(-1, 1, 4) * (math.pi, math.pi, min(fastest, 12.5), fastest)
        masses, a = draws.uniform(0.4, 1.8, 2), int(draws.integers(3))
        env.reset(seed=0)
        env.LINK_MASS_1, env.LINK_MASS_2 = masses
        env.state = x.copy()
        _, _, over, _, _ = env.step(a)
        interpreted = model.compiled_form.interpreted
        ((y, _),) = interpreted.transition(model.state_record(tuple(x)), masses_of(model, *masses), a)
        differences = np.array([y[field] for field in FIELDS]) - env.state
        differences[:2] = (differences[:2] + math.pi) % (2 * math.pi) - math.pi
        assert np.abs(differences).max() < 1e-6
        assert interpreted.terminal(y) == over
        limited += abs(env.state[2]) == env.MAX_VEL_1 or abs(env.state[3]) == env.MAX_VEL_2
        wrapped += np.abs(env.state[:2] - x[:2]).max() > math.pi
    assert fastest < 28.0 or (limited > 5 and wrapped > 5)  # speeds at their limits and angles that go around occur


def test_an_episode_ends_where_gymnasiums_does(model, env):
    draws, ends = np.random.default_rng(2), 0
    for _ in range(300):
        angles = draws.uniform(-math.pi, math.pi, 2)
        env.state = np.append(angles, (0.0, 0.0))
        x = model.state_record((*angles, 0.0, 0.0))
        assert model.compiled_form.interpreted.terminal(x) == env._terminal() == model.success(x, None)
        ends += env._terminal()
    assert 20 < ends < 280


def test_the_policy_for_rollouts_swings_it_up(model):
    plain, x, theta = model.compiled_form.interpreted, model.state_record((0.05, 0.0, 0.0, 0.0)), masses_of(model, 1, 1)
    steps = 0
    while not plain.terminal(x) and steps < 500:
        a = plain.policy(x, 0.5)
        assert a == pump(x)
        ((x, _),) = plain.transition(x, theta, a)
        steps += 1
    assert 50 < steps < 150


# ---------------------------------------------------------------------- masses


def test_masses_may_be_known_or_listed_and_wrong_ones_are_refused():
    problem_conforms(pl.Acrobot(1.0, 0.7))
    assert pl.Acrobot(1.0).constants()["masses"] == "1.0; 0.4 to 1.8"
    assert pl.make_model("acrobot-listed").constants()["masses"].startswith("0.4 or 0.6 or 0.8 or")
    for mass in (0.0, -1.0, math.inf, math.nan, (), (1.0, 0.0)):
        with pytest.raises(pl.UsageError, match="the mass of a link of the acrobot must be a positive number"):
            pl.Acrobot(1.0, mass)


def test_drawings_show_where_the_tip_is_and_what_is_known_of_the_masses(model):
    marginals = [np.array([1.2, 0.9, 1.6]), np.array([0.5, 0.45, 0.55])]
    for angles, row, column in (((0.0, 0.0), 16, 16), ((-math.pi, 0.0), 0, 16), ((math.pi / 2, 0.0), 8, 32)):
        *canvas, where, first, second = model.draw(model.state_record((*angles, 1.5, -2.0)), marginals).splitlines()
        assert [(r, line.index("●")) for r, line in enumerate(canvas) if "●" in line] == [(row, column)]
        assert f"angles {angles[0]:+.2f} +0.00, speeds +1.50 -2.00" in where
    assert (first, second) == (
        "mass 1: 1.20, from 0.90 to 1.60 with 95 %", "mass 2: 0.50, from 0.45 to 0.55 with 95 %",
    )  # fmt: skip
    listed = pl.Acrobot((0.5, 1.0, 1.5), 0.8)
    text = listed.draw(listed.initial_state(), [np.array([0.01, 0.59, 0.4]), np.ones(1)])
    assert text.endswith("\nmass 1: 1.20, from 1.00 to 1.50 with 95 %\nmass 2: 0.8")


# ---------------------------------------------------------------------- in Gymnasium


def test_the_world_is_gymnasiums_with_the_masses_of_the_episode(world):
    def played(episode):
        world.reset(3, episode)
        env = world._env.unwrapped
        assert (world.theta.mass_1, world.theta.mass_2) == (env.LINK_MASS_1, env.LINK_MASS_2)
        return [(*world.step(a).y, *world.theta) for a in (0, 2, 2, 1, 0, 0)]

    assert played(4) == played(4) != played(5)


def test_the_world_is_for_acrobots_alone():
    pytest.importorskip("gymnasium")
    with pytest.raises(pl.UsageError, match=r"Gymnasium's Acrobot-v1, for acrobot, not for Tiger"):
        pl.evaluate("tiger", "pomdp-lite", episodes=1, world="acrobot")


@pytest.mark.parametrize("name", ["acrobot", "acrobot-listed"])
def test_the_belief_finds_the_masses_in_gymnasiums_world(name):
    pytest.importorskip("gymnasium")
    world = pl.make_world("acrobot", pl.make_model(name))
    belief = pl.initial_belief(world.model)
    for episode in range(3):
        world.reset(1000, episode)
        belief.reset(episode)
        for _ in range(40):
            x = world.x
            result = world.step(pump(x))
            belief.update(x, pump(x), result.y, result.o)
        low, high = belief.quantile(0.001), belief.quantile(0.999)
        for mass in ("mass_1", "mass_2"):
            assert low[mass] <= world.theta[mass] <= high[mass] < low[mass] + 0.05


@pytest.mark.slow
def test_pomdp_lite_swings_it_up_in_gymnasium(world):
    planner = pl.PomdpLite(pl.Acrobot(), sims=40)
    played = pl.run_episode(planner, world, 1000, 0)
    assert played.success and played.steps < 200 and played.undiscounted == -(played.steps - 1)
    assert not played.notes
