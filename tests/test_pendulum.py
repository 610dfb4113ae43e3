"""The pendulum of unknown mass: its dynamics, its belief, and planners that swing it up."""

import math

import numpy as np
import pytest
from scipy import stats

import pomdplite as pl
from pomdplite import rng
from pomdplite.testing import problem_conforms


def test_a_step_is_that_of_gymnasiums_pendulum():
    """Worked out by hand from ω' = ω + (15 sin(angle) + 3 u / m) 0.05, angle' = angle + 0.05 ω'."""
    model = pl.Pendulum()
    plain, theta = model.compiled_form.interpreted, np.zeros(1, model.hidden.dtype).view(np.recarray)[0]
    theta.mass = 1.5
    for x, action, angle, speed in (
        ((math.pi / 6, 1.0), "+2", math.pi / 6 + 0.07875, 1.575),
        ((-math.pi, 0.0), "-1", math.pi - 0.005, -0.1),
        ((math.pi / 2, 7.9), "+0", math.pi / 2 + 0.4, 8.0),  # at the greatest speed
    ):
        ((y, _),) = plain.transition(model.state_record(x), theta, model.action_index(action))
        assert (y.angle, y.speed) == pytest.approx((angle, speed), abs=1e-12)
    cost = plain.reward(model.state_record((0.5, -2.0)), theta, model.action_index("+2"))
    assert cost == pytest.approx(-(0.25 + 0.4 + 0.004))


def test_a_pendulum_of_known_mass_conforms_and_a_wrong_one_is_refused():
    problem_conforms(pl.Pendulum(mass=0.7))
    for mass in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(pl.UsageError, match="the mass of a pendulum must be a positive number"):
            pl.Pendulum(mass=mass)


@pytest.mark.parametrize("mass", [0.5, 1.0, 2.0])
def test_a_planner_that_knows_the_mass_swings_it_up(mass):
    model = pl.Pendulum(mass=mass)
    planner, world = pl.MeanMdp(model, sims=1), pl.ModelWorld(model)
    for episode in range(3):
        assert pl.run_episode(planner, world, 1000, episode).success


def test_pomdp_lite_learns_the_mass_while_it_swings_up():
    planner, world = pl.PomdpLite(pl.Pendulum(), sims=1), pl.ModelWorld(pl.Pendulum())
    assert pl.run_episode(planner, world, 1000, 1).success
    low, high = (planner.belief.quantile(q)["mass"] for q in (0.001, 0.999))
    assert low < world.theta.mass < high < low + 0.3


def test_drawings_show_where_the_bob_is_and_what_is_known_of_the_mass():
    model = pl.Pendulum()
    for angle, row, column in ((0.0, 0, 9), (-math.pi, 8, 9), (math.pi / 2, 4, 0), (-math.pi / 2, 4, 18)):
        *canvas, where, mass = model.draw(model.state_record((angle, 1.5)), [np.array([1.2, 0.9, 1.6])]).splitlines()
        assert [(r, line.index("●")) for r, line in enumerate(canvas) if "●" in line] == [(row, column)]
        assert where == f"angle {angle:+.2f}, speed +1.50" and mass == "mass 1.20, from 0.90 to 1.60 with 95 %"
    known = pl.Pendulum(mass=0.8)
    assert known.draw(known.initial_state(), [np.ones(1)]).endswith("\nmass 0.8")


@pytest.mark.slow
def test_the_95_per_cent_interval_of_the_mass_holds_it_in_95_per_cent_of_episodes():
    """After 30 random torques; the limits are those of a binomial number at the level of 0.1 %."""
    world, episodes, inside = pl.ModelWorld(pl.Pendulum()), 1000, 0
    belief = pl.initial_belief(world.model)
    for episode in range(episodes):
        world.reset(2000, episode)
        belief.reset(episode)
        draws = rng.stream(2000, episode, rng.PLANNER)
        for _ in range(30):
            x, a = world.x, int(rng.uniform(draws) * 5)
            result = world.step(a)
            belief.update(x, a, result.y, result.o)
        low, high = (belief.quantile(q)["mass"] for q in (0.025, 0.975))
        inside += low <= world.theta.mass <= high
    least, most = stats.binom(episodes, 0.95).interval(0.999)
    assert least <= inside <= most
