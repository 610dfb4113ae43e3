"""Beliefs about a listed θ, or about particles, after steps with noise and readings; against plain NumPy."""

import math

import numpy as np
import pytest
from real_models import LIGHT, STOP, Compass, Counter, Pendulum, RealLightDark, interpreted

import pomdplite as pl
from pomdplite.compile import abi
from pomdplite.model.records import to_words


def posterior(logs):
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


def normal(z, mean, sd):
    return -0.5 * ((z - mean) / sd) ** 2 - np.log(sd)


@pytest.mark.parametrize("make", [RealLightDark, lambda: interpreted(RealLightDark)])
def test_light_dark_gives_the_posterior_of_numpy_after_1_10_and_1000_readings(make):
    """The position changes with every action, walls included; some readings are nearly exact."""
    model = make()
    steps = 1000 if model.compiled else 10
    belief, world = pl.initial_belief(model), pl.ModelWorld(model)
    world.reset(4)
    start = np.arange(-60, 61)
    here = start.copy()
    logs = np.where(np.abs(start) <= 30, 0.0, -np.inf)
    for t in range(1, steps + 1):
        a = (4, 3, 1, 0, 3, 1)[t % 6]
        y, o, *_ = world.step(a)
        belief.update(model.initial_state(), a, y, o)
        here = np.clip(here + model.moves[a], -60, 60)
        logs = logs + normal(o.position, here, np.abs(here - LIGHT) + 0.0001)
        if t in (1, 10, 1000):
            assert np.allclose(belief.probabilities[:-1], posterior(logs), rtol=1e-9, atol=1e-12)
            now = np.bincount(here + 60, posterior(logs), minlength=121)
            assert np.allclose(belief.marginals()[0], now, rtol=1e-9, atol=1e-12)


def test_no_reading_says_nothing():
    model = RealLightDark()
    belief = pl.initial_belief(model)
    before = belief.probabilities.copy()
    belief.update({"over": False}, STOP, {"over": True}, None)
    assert np.array_equal(belief.probabilities, before)


def test_impossible_steps_are_named_and_change_nothing():
    model = RealLightDark()
    belief = pl.initial_belief(model)
    before = belief.key()
    with pytest.raises(pl.ImpossibleObservationError, match=r"observing 'position=1.5' is impossible after 'stop' in"):
        belief.update({"over": False}, STOP, {"over": True}, 1.5)
    with pytest.raises(pl.ImpossibleObservationError, match=r"the next state x' = \(over=True\) is impossible after"):
        belief.update({"over": False}, 0, {"over": True}, 1.5)
    assert belief.key() == before


@pytest.mark.parametrize("make", [Pendulum, lambda: interpreted(Pendulum)])
def test_noise_in_steps_tells_the_mass(make):
    model = make()
    belief, world = pl.initial_belief(model), pl.ModelWorld(model)
    world.reset(2)
    logs, mass = np.zeros(3), np.array([0.5, 1.0, 2.0])
    for t in range(30):
        x, a = world.x, (t // 3) % 3
        y, o, *_ = world.step(a)
        belief.update(x, a, y, o)
        pull = 15.0 * math.sin(x.angle) + 3.0 * model.torque[a] / mass
        logs += normal(y.speed, np.clip(x.speed + 0.05 * pull, -8, 8), 0.05)
        assert np.allclose(belief.probabilities[:-1], posterior(logs), rtol=1e-9, atol=1e-12)
    assert belief.probabilities[:-1].max() > 0.99
    with pytest.raises(pl.ImpossibleObservationError, match="is impossible after '-2'"):
        belief.update(x, 0, {"angle": 1.0, "speed": 0.0}, None)  # the angle has no noise


def wrapped_normal(d, sd):
    turns = 2 * np.pi * np.arange(-50, 51)
    return np.log(np.exp(normal(np.add.outer(d, turns), 0.0, sd)).sum(axis=-1))


def test_angles_with_noise_are_weighed_around_the_circle():
    model = Compass()
    belief, world = pl.initial_belief(model), pl.ModelWorld(model)
    world.reset(1)
    rate, bias = (g.ravel() for g in np.meshgrid([0.5, 3.0], [-0.2, 0.2], indexing="ij"))
    logs = np.zeros(4)
    for t in range(8):
        x, a = world.x, t % 2
        y, o, *_ = world.step(a)
        belief.update(x, a, y, o)
        logs += wrapped_normal(y.heading[0] - x.heading[0] - rate, 0.2)
        logs += wrapped_normal(y.heading[1] - x.heading[1] + rate, 0.5 if a == 1 else 0.1)
        logs += wrapped_normal(o.heading - y.heading[0] - bias, 0.3)
        assert np.allclose(belief.probabilities[:-1], posterior(logs), rtol=1e-9, atol=1e-12)
    with pytest.raises(pl.ImpossibleObservationError, match="observing"):
        belief.update(x, a, y, {"heading": 0.0, "turns": 99})  # the counter has no noise


@pytest.mark.parametrize("sd", [0.01, 0.3, 2.0, 9.0, 50.0])
def test_the_density_of_an_angle_integrates_to_one(sd):
    def observation(m, y, theta, a, z):
        z.heading = y.heading[0]

    noise = pl.Reading(heading=pl.Angle, noise=pl.Gaussian(heading=sd))
    model = type("Vane", (Compass,), {"observations": noise, "observation": observation})()
    view = model.compiled_form.kernel_view()
    row = np.zeros((1, view.kernel_model.x_words + view.kernel_model.z_words), np.uint64)
    row[0, :4] = to_words(model.state.dtype, model.state_record((0, (3.0, 0.0), 0.0)))
    points = np.linspace(-np.pi, np.pi, 4001)[:-1]
    total = 0.0
    for z in points:
        row.view(np.float64)[0, 4] = z
        total += math.exp(abi.reading_log_density(view.kernel_model, row, 0, view.table.theta, 0, 0))
    assert math.isclose(total * 2 * np.pi / len(points), 1.0, rel_tol=1e-9)


@pytest.mark.parametrize("make", [Counter, lambda: interpreted(Counter)])
def test_given_densities_weigh_steps(make):
    model = make()
    belief, world = pl.initial_belief(model), pl.ModelWorld(model)
    world.reset(5)
    rate, logs = np.array([0.5, 1.0]), np.zeros(2)
    one = np.array([0.5 * math.erfc(-r / math.sqrt(2)) for r in rate])
    for _ in range(10):
        x = world.x
        y, o, *_ = world.step(0)
        belief.update(x, 0, y, o)
        logs += normal(math.log(y.v), rate, 0.5) + np.log(one if o.n == 1 else 1 - one)
        assert np.allclose(belief.probabilities[:-1], posterior(logs), rtol=1e-9, atol=1e-12)
    with pytest.raises(pl.ImpossibleObservationError, match="observing 'n=2' is impossible after 'go'"):
        belief.update(x, 0, y, 2)
    with pytest.raises(pl.ImpossibleObservationError, match="the next state"):
        belief.update(x, 0, {"v": -1.0}, 1)


@pytest.mark.parametrize("compiled", [True, False])
def test_a_negative_density_is_named(compiled):
    def likelihood(m, y, theta, a, z):
        return -0.5

    model = type("Wrong", (Counter,), {"likelihood": likelihood, "compiled": compiled})()
    with pytest.raises(pl.ModelError, match=r"likelihood gives the negative density -0.5 at y = \(v=2.0\), .*n=1"):
        pl.initial_belief(model).update({"v": 1.0}, 0, {"v": 2.0}, 1)


class Scale(pl.Model):
    """Weigh a thing whose weight is uniform from 0 to 10: a Population with readings."""

    hidden = pl.Population(weight=float)
    actions = ("weigh",)
    observations = pl.Reading(weight=float, noise=pl.Gaussian(weight=1.0))
    discount = 0.9

    def transition(m, x, theta, a, y):
        pass

    def observation(m, y, theta, a, z):
        z.weight = theta.weight

    def reward(m, x, theta, a):
        return 0.0

    def prior(m, theta, random):
        theta.weight = 10.0 * pl.uniform(random)


def test_particles_are_weighed_by_readings():
    """Without moves, the particles are importance samples of the prior: the mean within 5 standard errors."""
    model = Scale()
    belief = pl.ParticleBelief(model, 4000)
    readings = (3.1, 2.4, 3.3)
    for z in readings:
        belief.update(model.initial_state(), 0, model.initial_state(), z)
    assert abs(belief.mean()["weight"] - np.mean(readings)) < 5 * math.sqrt(1 / 3) / math.sqrt(300)
    with pytest.raises(
        pl.ImpossibleObservationError, match=r"none of 500 particles explains observing 'weight=1e\+200'"
    ):
        pl.ParticleBelief(model, 500).update(model.initial_state(), 0, model.initial_state(), 1e200)


def test_particles_of_a_listed_theta_agree_with_the_exact_belief():
    """Their moves weigh the whole history: densities of steps and readings."""
    model, world = Compass(), pl.ModelWorld(Compass())
    exact, particles = pl.initial_belief(model), pl.ParticleBelief(model, 2000)
    world.reset(3)
    for t in range(3):
        x = world.x
        y, o, *_ = world.step(t % 2)
        for belief in (exact, particles):
            belief.update(x, t % 2, y, o)
    for one, other in zip(exact.marginals(), particles.marginals(), strict=True):
        assert np.allclose(one, other, atol=0.06)


def test_rejection_needs_listed_outcomes():
    with pytest.raises(pl.UnsuitableError, match="a belief by rejection needs"):
        pl.RejectionBelief(RealLightDark())
