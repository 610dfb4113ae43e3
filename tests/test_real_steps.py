"""Steps of models with real numbers: thinned beliefs, drawn outcomes and their bonus, against integrals and NumPy."""

import math

import numpy as np
import pytest
from distributed_models import Sensor
from real_models import LIGHT, Compass, Counter, Pendulum, RealLightDark
from test_weighing import Scale, normal, wrapped_normal

import pomdplite as pl
from pomdplite import rng
from pomdplite.mdp.real.frozen import canonical, freeze, point_steps
from pomdplite.mdp.real.steps import allocate_step_work, mean_step

COUNT = 2048


def frozen_of(belief, most=64, seed=1):
    return freeze(belief.view, belief.kernel_model, belief.probabilities, rng.stream(seed), most)


def step(belief, x, a, count=COUNT, most=64, seed=1):
    """Mean reward, change, next states and their probabilities."""
    model, frozen = belief.view.model, frozen_of(belief, most, seed)
    work = allocate_step_work(belief.kernel_model, count, most)
    s = belief._state(belief.view.words(model.state_record(x), np.zeros(0, np.uint64))).reshape(1, -1)
    reward, change, k = mean_step(belief.kernel_model, frozen, work, s, 0, a, 0, count)
    belief.view.raise_fault()
    return reward, change, work.next[:k].copy(), work.chance[:k].copy()


def integrated(b, likelihoods, cell):
    """Definition 1 as an integral: likelihoods [value, …] on a grid with cells of this size."""
    table = likelihoods.reshape(len(b), -1) * cell
    assert np.allclose(table.sum(axis=1), 1, atol=2e-3)  # the grid covers every outcome
    return np.abs(b[:, None] * table - np.outer(b, b @ table)).sum()


# ---------------------------------------------------------------------- the bonus


@pytest.mark.parametrize("a", range(5))
def test_readings_change_the_belief_as_the_integral_says(a):
    """At the light a reading is nearly exact; there the integral is over cells of 1/50 of the error."""
    model = RealLightDark()
    belief = pl.initial_belief(model)
    reward, change, next_states, chance = step(belief, {"over": False}, a)
    position = np.arange(-60, 61)
    b = belief.probabilities[:-1]
    later = np.clip(position + model.moves[a], -60, 60)[b > 0]
    assert len(chance) == 1 and math.isclose(chance[0], 1.0)
    assert bool(next_states[0, 0]) == (a == 2)
    if a == 2:
        assert change < 1e-12 and math.isclose(reward, (100 - 60 * 100) / 61)
        return
    sd = np.abs(later - LIGHT) + 0.0001
    fine = LIGHT + np.linspace(-0.001, 0.001, 1001)
    coarse = np.arange(-500.0, 500.0, 0.02) + 0.01
    z = np.concatenate([coarse[np.abs(coarse - LIGHT) > 0.005], fine])
    z.sort()
    cells = np.gradient(z)
    densities = np.exp(normal(z, later[:, None], sd[:, None])) / math.sqrt(2 * math.pi) * cells
    assert math.isclose(reward, -1.0)
    assert abs(change - integrated(b[b > 0], densities, 1.0)) < 0.01


@pytest.mark.parametrize("a", range(3))
def test_noise_in_steps_changes_the_belief_as_the_integral_says(a):
    model = Pendulum()
    belief = pl.initial_belief(model)
    x = {"angle": 1.0, "speed": 0.3}
    mean = 0.3 + 0.05 * (15.0 * math.sin(1.0) + 3.0 * model.torque[a] / np.array([0.5, 1.0, 2.0]))
    v = np.linspace(mean.min() - 0.5, mean.max() + 0.5, 20_001)
    densities = np.exp(normal(v, mean[:, None], 0.05)) / math.sqrt(2 * math.pi)
    reward, change, next_states, chance = step(belief, x, a)
    assert math.isclose(reward, -(1.0 + 0.1 * 0.09)) and np.allclose(chance, 1 / COUNT)
    assert abs(change - integrated(np.full(3, 1 / 3), densities, v[1] - v[0])) < 0.01
    speed = next_states[:, 1].view(np.float64)
    assert np.allclose(next_states[:, 0].view(np.float64), 1.0 + 0.05 * 0.3)
    assert abs(speed.mean() - mean.mean()) < 0.002 and abs(speed.var() - 0.05**2 - mean.var()) < 0.001


def test_noise_and_readings_together():
    """Two angles with noise and a third that is read: an integral over all three."""
    belief, (rate, bias) = pl.initial_belief(Compass()), np.meshgrid([0.5, 3.0], [-0.2, 0.2], indexing="ij")
    angle = np.linspace(-np.pi, np.pi, 81)[:-1]
    one, two, read = angle[:, None, None], angle[None, :, None], angle[None, None, :]
    logs = [
        wrapped_normal(one - r, 0.2) + wrapped_normal(two + r, 0.1) + wrapped_normal(read - one - c, 0.3)
        for r, c in zip(rate.ravel(), bias.ravel(), strict=True)
    ]
    densities = np.exp(logs) / (2 * math.pi) ** 1.5
    _, change, _, _ = step(belief, {"turns": 0, "heading": (0.0, 0.0), "still": 0.0}, 0)
    assert abs(change - integrated(np.full(4, 0.25), densities, (angle[1] - angle[0]) ** 3)) < 0.01


def test_given_densities_and_counts():
    rate, v = np.array([0.5, 1.0]), np.exp(np.linspace(-3.0, 5.0, 40_001))
    one = np.array([0.5 * math.erfc(-r / math.sqrt(2)) for r in rate])
    steps = np.exp(normal(np.log(v), rate[:, None], 0.5)) / math.sqrt(2 * math.pi) * (8.0 / 40_000)
    both = np.concatenate([steps * one[:, None], steps * (1 - one[:, None])], axis=1)
    reward, change, _, _ = step(pl.initial_belief(Counter()), {"v": 1.0}, 0)
    assert abs(change - integrated(np.full(2, 0.5), both, 1.0)) < 0.01
    assert math.isclose(reward, np.exp(rate + 0.125).mean(), rel_tol=1e-4)


class Echo(pl.Model):
    """A noisy step, after which one of two listed observations is made; or, by the other action, a coin and a reading."""

    state = pl.State(v=float)
    hidden = pl.Hidden(shift=(-0.3, 0.4, 0.6))
    actions = ("move",)
    observations = ("low", "high")
    noise = pl.Gaussian(v=0.5)
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.v = x.v + theta.shift

    def observation(m, y, theta, a, z):
        z[1] = 1.0 / (1.0 + math.exp(-3.0 * (y.v - theta.shift)))
        z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        return theta.shift


def test_listed_observations_after_noisy_steps_are_summed_over():
    shift, v = np.array([-0.3, 0.4, 0.6]), np.linspace(-4.0, 4.0, 20_001)
    steps = np.exp(normal(v, shift[:, None], 0.5)) / math.sqrt(2 * math.pi)
    high = 1.0 / (1.0 + np.exp(-3.0 * (v - shift[:, None])))
    both = np.concatenate([steps * high, steps * (1 - high)], axis=1)
    reward, change, _, _ = step(pl.initial_belief(Echo()), {"v": 0.0}, 0)
    assert abs(change - integrated(np.full(3, 1 / 3), both, v[1] - v[0])) < 0.01
    assert math.isclose(reward, shift.mean())


class Coin(pl.Model):
    """A step to the left or right by chance, and a reading that depends on the side."""

    state = pl.State(side=("start", "left", "right"))
    hidden = pl.Hidden(bias=(0.2, 0.7, 0.9))
    actions = ("toss",)
    observations = pl.Reading(d=float, noise=pl.Gaussian(d=0.3))
    next_states = 2
    discount = 0.9

    def transition(m, x, theta, a, y, p):
        y[0].side = 1
        y[1].side = 2
        p[0] = theta.bias
        p[1] = 1.0 - theta.bias
        return 2

    def observation(m, y, theta, a, z):
        z.d = theta.bias * y.side

    def reward(m, x, theta, a):
        return 0.0


def test_listed_next_states_are_exact_and_summed_over():
    bias, z = np.array([0.2, 0.7, 0.9]), np.linspace(-3.0, 5.0, 8001)
    left, right = (np.exp(normal(z, side * bias[:, None], 0.3)) / math.sqrt(2 * math.pi) for side in (1, 2))
    both = np.concatenate([left * bias[:, None], right * (1 - bias[:, None])], axis=1)
    _, change, next_states, chance = step(pl.initial_belief(Coin()), {"side": 0}, 0)
    assert next_states[:, 0].tolist() == [1, 2] and np.allclose(chance, [0.6, 0.4])
    assert abs(change - integrated(np.full(3, 1 / 3), both, z[1] - z[0])) < 0.01


def test_a_few_outcomes_estimate_the_bonus_without_bias():
    """Means over 400 random beginnings of the points; 4.5 standard errors are missed once in 100,000 cases."""
    belief = pl.initial_belief(Pendulum())
    x = {"angle": 1.0, "speed": 0.3}
    _, exact, _, _ = step(belief, x, 0, 4096)
    for count in (1, 4):
        found = [step(belief, x, 0, count, seed=seed)[1] for seed in range(400)]
        assert abs(np.mean(found) - exact) < 4.5 * np.std(found) / math.sqrt(400) + 0.002


# ---------------------------------------------------------------------- hidden values that change


def test_next_states_lead_kept_values_on_and_leave_others_alone():
    model = RealLightDark()
    belief = pl.initial_belief(model)
    _, _, next_states, _ = step(belief, {"over": False}, 4)
    present = belief.view.present_rows(next_states[0])[:121] - 60
    initial = np.arange(-60, 61)
    possible = np.abs(initial) <= 30
    assert (present[possible] == np.clip(initial + 10, -60, 60)[possible]).all()
    assert (present[~possible] == initial[~possible]).all()


def test_states_that_differ_in_values_left_out_are_equal():
    belief = pl.initial_belief(RealLightDark())
    belief.probabilities[90] = 0.0  # no longer at 30, but at 0
    frozen = frozen_of(belief)
    one = belief.view.root()
    other = one.copy()
    words, shifts = belief.kernel_model.map_word[[90, 60]], belief.kernel_model.map_shift[[90, 60]]
    other[words[0]] ^= np.uint64(1) << shifts[0]
    assert not np.array_equal(one, other) and np.array_equal(canonical(frozen, one), canonical(frozen, other))
    other[words[1]] ^= np.uint64(1) << shifts[1]
    assert not np.array_equal(canonical(frozen, one), canonical(frozen, other))


# ---------------------------------------------------------------------- thinning


def test_few_possible_values_are_kept_as_they_are():
    belief = pl.initial_belief(RealLightDark())
    frozen = frozen_of(belief)
    assert (frozen.rows[:-1] - 60).tolist() == list(range(-30, 31)) and np.allclose(frozen.weight[:-1], 1 / 61)
    assert frozen.rows[-1] == 121 and frozen.weight[-1] == 1.0


@pytest.mark.parametrize("make", [Sensor, Scale])
def test_thinning_keeps_the_distribution(make):
    """64 of 200 grid nodes or 1,000 particles: the distribution function is off by at most one 64th."""
    belief = pl.initial_belief(make())
    field = belief.view.model.hidden.dtype.names[0]
    for reading in (None, 1.4):
        if reading is not None:
            belief.update(belief.view.model.initial_state(), 0, belief.view.model.initial_state(), reading)
        frozen = frozen_of(belief)
        assert len(frozen.rows) <= 65 and math.isclose(frozen.weight[:-1].sum(), 1)
        values = belief.kernel_model.theta[:-1].view(belief.view.model.hidden.dtype)[field].ravel()
        kept = values[frozen.rows[:-1]]
        for quantile in np.linspace(0.02, 0.98, 25):
            at = belief.quantile(quantile)[field]
            share, full = frozen.weight[:-1][kept <= at].sum(), belief.probabilities[:-1][values <= at].sum()
            assert abs(share - full) <= 1 / 64 + 1e-9


def test_a_thinned_belief_changes_as_much_as_the_whole():
    """N(0.5, 2²) read with error 0.5: 64 of 200 nodes, against all of them."""
    belief = pl.initial_belief(Sensor())
    changes = [step(belief, {"_": 0}, 0, most=most)[1] for most in (64, 200)]
    assert abs(changes[0] - changes[1]) < 0.02


def test_any_successive_points_are_evenly_spread():
    """Of 64 successive points in three dimensions, the mean of each coordinate is within 0.03 of 1/2."""
    steps = point_steps(3)
    points = np.outer(np.arange(1, 2001), steps) % 1.0
    for first in range(0, 1900, 7):
        assert np.abs(points[first : first + 64].mean(axis=0) - 0.5).max() < 0.03
    assert len({*np.round(steps, 6)}) == 3


def test_the_same_stream_gives_the_same_step():
    belief = pl.initial_belief(Pendulum())
    one, two, other = (step(belief, {"angle": 0.0, "speed": 0.0}, 2, 8, seed=seed) for seed in (5, 5, 6))
    assert one[1] == two[1] and np.array_equal(one[2], two[2]) and not np.array_equal(one[2], other[2])


# ---------------------------------------------------------------------- as a belief tells it


def test_a_belief_tells_mean_reward_next_states_and_expected_change():
    belief = pl.initial_belief(Pendulum())
    x = belief.view.model.state_record({"angle": 1.0, "speed": 0.3})
    following = belief.mean_transition(x, "2")
    assert math.isclose(sum(p for _, p in following), 1) and len(following) > 1000
    speed = sum(p * y.speed for y, p in following)
    assert abs(speed - 0.3 - 0.05 * (15.0 * math.sin(1.0) + 6.0 * np.mean([2.0, 1.0, 0.5]))) < 0.005
    assert math.isclose(belief.mean_reward(x, "2"), -(1.0 + 0.1 * 0.09))
    assert abs(belief.expected_change(x, "2") - step(belief, x, 2)[1]) < 0.01
    listed = pl.initial_belief(Coin())
    assert [p for _, p in listed.mean_transition({"side": 0}, 0)] == pytest.approx([0.6, 0.4])
    assert abs(listed.expected_change({"side": 0}, 0) - step(listed, {"side": 0}, 0)[1]) < 0.01
