"""Beliefs about hidden numbers with distributions, against conjugate posteriors and independent integration."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from distributed_models import (
    COUNTS,
    Bernoulli,
    Bounded,
    EveryKind,
    Logistic,
    Looking,
    Mixed,
    Poisson,
    Probit,
    Sensor,
    Sharp,
    SharpSensor,
    UnknownSensor,
    logistic_moments,
    look,
    mixed_moments,
    probit_moments,
    read,
    sharp_moments,
    unknown_moments,
)
from scipy import stats

import pomdplite as pl
from pomdplite import rng
from pomdplite.beliefs.drawn_moves import Weighed, make_chain, move_drawn
from pomdplite.beliefs.history import empty_history, extended, weigh_history
from pomdplite.beliefs.protocol import StepNote
from pomdplite.experiments import run_episode
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.testing import problem_conforms
from pomdplite.views.beliefs import belief_lines

ERROR_RATE = 1e-4  # at which a right sampler fails one of the statistical tests below; the seeds are fixed
Case = tuple[type[Looking], np.ndarray, np.ndarray | None, dict[str, tuple[float, float]]]


def bernoulli(t: int) -> Case:
    seen = (np.random.default_rng(t).random(t) < 0.3).astype(np.int64)
    exact = stats.beta(2 + seen.sum(), 3 + t - seen.sum())
    return Bernoulli, seen, None, {"p": (exact.mean(), exact.std())}


def poisson(t: int) -> Case:
    seen = np.minimum(np.random.default_rng(t).poisson(5.0, t), COUNTS - 1)
    exact = stats.gamma(3 + seen.sum(), scale=1 / (1 / 2 + t))
    return Poisson, seen, None, {"rate": (exact.mean(), exact.std())}


def probit(t: int) -> Case:
    seen = (np.random.default_rng(t).random(t) < 0.8).astype(np.int64)
    return Probit, seen, None, {"mu": probit_moments(seen)}


def logistic(t: int) -> Case:
    random = np.random.default_rng(t)
    places = random.normal(0.0, 2.0, t)
    seen = (random.random(t) < 1 / (1 + np.exp(-0.7 - 1.3 * places))).astype(np.int64)
    intercept, slope = logistic_moments(seen, places)
    return Logistic, seen, places, {"intercept": tuple(intercept), "slope": tuple(slope)}


def sharp(t: int) -> Case:
    return Sharp, np.tile([1, 0], t // 2), np.tile([10.0, 10.001], t // 2), {"position": sharp_moments(t // 2)}


def sensor(t: int) -> tuple[Any, np.ndarray, dict[str, tuple[float, float]]]:
    """Normal–Normal."""
    readings = np.random.default_rng(t).normal(1.2, 0.5, t)
    variance = 1 / (1 / 2.0**2 + t / 0.5**2)
    return Sensor, readings, {"mu": (variance * (0.5 / 2.0**2 + readings.sum() / 0.5**2), np.sqrt(variance))}


def sharp_sensor(t: int) -> tuple[Any, np.ndarray, dict[str, tuple[float, float]]]:
    """The prior is flat, and its ends are far away."""
    readings = np.random.default_rng(t).normal(12.345, 0.0001, t)
    return SharpSensor, readings, {"mu": (readings.mean(), 0.0001 / np.sqrt(t))}


def unknown_sensor(t: int) -> tuple[Any, np.ndarray, dict[str, tuple[float, float]]]:
    readings = np.random.default_rng(t).normal(1.2, 0.5, t)
    mu, spread = unknown_moments(readings)
    return UnknownSensor, readings, {"mu": tuple(mu), "spread": tuple(spread)}


SENSORS = (sensor, sharp_sensor, unknown_sensor)


@pytest.mark.parametrize("t", [1, 10, 1000, pytest.param(10_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("make", SENSORS)
def test_quadrature_agrees_with_the_exact_posterior_of_readings(make: Any, t: int) -> None:
    """One reading leaves a ridge of large spreads, too sharp at its tip for 42 × 42 nodes: 5% there."""
    model, readings, exact = make(t)
    belief = pl.initial_belief(model())
    assert isinstance(belief, pl.QuadratureBelief)
    read(belief, readings)
    tolerance = 1e-6 if make is not unknown_sensor or t > 10 else 0.05 if t == 1 else 1e-4
    for field, (mean, sd) in found(belief).items():
        assert abs(mean - exact[field][0]) < tolerance * exact[field][1]
        assert sd == pytest.approx(exact[field][1], rel=tolerance)


@pytest.mark.parametrize("other", [12.31, -15.0])
def test_quadrature_follows_a_reading_far_from_the_others(other: float) -> None:
    """Hundreds, or a hundred thousand, standard deviations beyond the grid."""
    belief, readings = pl.QuadratureBelief(SharpSensor()), np.array([12.3] * 5 + [other])
    read(belief, readings)
    mean, sd = found(belief)["mu"]
    assert sd == pytest.approx(0.0001 / np.sqrt(6), rel=1e-5)
    assert abs(mean - readings.mean()) < 1e-3 * sd


def test_quadrature_follows_a_far_reading_in_two_dimensions() -> None:
    belief, readings = pl.QuadratureBelief(UnknownSensor()), np.array([1.0, 1.01, 1.0, 0.99, 1.0, 1.01] * 4 + [-7.0])
    read(belief, readings)
    mu, spread = unknown_moments(readings)
    moments = found(belief)
    for field, exact in (("mu", mu), ("spread", spread)):
        assert moments[field] == pytest.approx(tuple(exact), rel=1e-3)


@pytest.mark.parametrize("t", [10, *(pytest.param(t, marks=pytest.mark.slow) for t in (1, 300, 10_000))])
@pytest.mark.parametrize("make", SENSORS)
def test_particles_follow_readings(make: Any, t: int) -> None:
    model, readings, exact = make(t)
    belief = pl.DrawnBelief(model(), 400)
    read(belief, readings)
    for field, (mean, sd) in found(belief).items():
        assert abs(mean - exact[field][0]) < 0.35 * exact[field][1]
        assert 0.75 < sd / exact[field][1] < 1.35


def found(belief: pl.Belief) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each number; of its logarithm for slope and spread."""
    moments = {}
    for field, numbers in belief._numbers().items():
        values, weights = numbers.values[0], numbers.weights[0]
        values = np.log(values) if field in ("slope", "spread") else values
        mean = float(weights @ values)
        moments[field] = mean, float(np.sqrt(weights @ (values - mean) ** 2))
    return moments


CONJUGATE = [(make, t) for make in (bernoulli, poisson, probit, logistic) for t in (1, 10, 1000)]
SLOW = [pytest.param(make, 10_000, marks=pytest.mark.slow) for make in (bernoulli, poisson, probit, logistic)]


@pytest.mark.parametrize(("make", "t"), [*CONJUGATE, (sharp, 20), (sharp, 100), *SLOW])
def test_quadrature_agrees_with_the_exact_posterior(make: Callable[[int], Case], t: int) -> None:
    model, seen, places, exact = make(t)
    belief = pl.initial_belief(model())
    assert isinstance(belief, pl.QuadratureBelief)
    look(belief, seen, places)
    for field, (mean, sd) in found(belief).items():
        assert abs(mean - exact[field][0]) < 1e-6 * exact[field][1]
        assert sd == pytest.approx(exact[field][1], rel=1e-6)


def test_quantiles_of_a_grid_lie_between_its_nodes() -> None:
    belief = pl.QuadratureBelief(Bernoulli())
    for observations in (0, 100):
        look(belief, np.zeros(observations, np.int64))
        exact = stats.beta(2, 3 + observations)
        for q in (0.025, 0.3, 0.5, 0.975):
            assert belief.quantile(q)["p"] == pytest.approx(exact.ppf(q), abs=0.02 * exact.std())


@pytest.mark.parametrize("t", [1, 10, 1000])
def test_listed_values_beside_a_number_have_grids_of_their_own(t: int) -> None:
    seen = (np.random.default_rng(t).random(t) < 0.35).astype(np.int64)
    plain, mean, sd = mixed_moments(seen)
    belief = pl.QuadratureBelief(Mixed())
    look(belief, seen)
    assert belief.marginals()[1] == pytest.approx([plain, 1 - plain], abs=1e-6)
    assert found(belief)["p"] == pytest.approx((mean, sd), abs=1e-6)


@pytest.mark.parametrize("make", [bernoulli, logistic])
def test_particles_are_unbiased(make: Callable[[int], Case]) -> None:
    """Over 60 seeds, the mean error is within its standard error of 0, up to the error rate."""
    model, seen, places, exact = make(10)
    belief, errors = pl.DrawnBelief(model(), 200), []
    for seed in range(60):
        belief.reset(seed)
        look(belief, seen, places)
        errors.append([(found(belief)[f][k] - exact[f][k]) / exact[f][1] for f in exact for k in (0, 1)])
    mean, error = np.mean(errors, axis=0), np.std(errors, axis=0, ddof=1) / np.sqrt(60)
    # The standard deviation of n draws is too small by a part of 1/(2n) on average, and n is 100 or more.
    assert (np.abs(mean) < stats.t(59).isf(ERROR_RATE / 8) * error + [0.0, 0.005] * len(exact)).all()
    assert np.std(errors) < 0.15


@pytest.mark.parametrize(
    ("make", "t"),
    [(bernoulli, 1), (bernoulli, 1000), (logistic, 1000), (sharp, 20),
     *(pytest.param(make, 10_000, marks=pytest.mark.slow) for make in (bernoulli, logistic))],
)  # fmt: skip
def test_particles_follow_a_long_history(make: Callable[[int], Case], t: int) -> None:
    """At n = 400 with 200 effective particles or more, an error of 0.35 standard deviations is one in a million."""
    model, seen, places, exact = make(t)
    belief = pl.DrawnBelief(model(), 400)
    look(belief, seen, places)
    for field, (mean, sd) in found(belief).items():
        assert abs(mean - exact[field][0]) < 0.35 * exact[field][1]
        assert 0.75 < sd / exact[field][1] < 1.35
    assert len(np.unique(belief._theta, axis=0)) > 200


def test_an_update_costs_the_same_however_long_the_history_is() -> None:
    _, seen, _, _ = bernoulli(1000)
    belief, terms = pl.DrawnBelief(Bernoulli(), 100), []
    for o in seen:
        look(belief, np.array([o]))
        terms.append(belief.terms)
    assert np.cumsum(terms)[-1] <= (1 + 50 + 50 + 25) * 100 * len(terms)  # weights, moves, and those of bridges
    assert np.mean(terms[500:]) <= 1.1 * np.mean(terms[50:100])
    assert np.median(terms[500:]) <= (1 + 50) * 100
    assert min(terms[500:]) > 40 * 100  # it still moves


class Curve(pl.Model):
    """Readings of a curve with three unknown numbers: poor near the middle, nearly exact far from it."""

    state = pl.State(place=float)
    hidden = pl.Hidden(offset=pl.Normal(0.0, 2.0), tilt=pl.Normal(0.0, 1.0), curvature=pl.Normal(0.0, 1.0))
    actions = ("look",)
    observations = pl.Reading(height=float)
    discount = 0.95

    def transition(m, x, theta, a, y):
        y.place = x.place

    def observation(m, y, theta, a, z, sd):
        z.height = theta.offset + theta.tilt * y.place + theta.curvature * y.place**2
        sd.height = 1.0 if y.place < 5.0 else 0.0001

    def reward(m, x, theta, a):
        return 0.0


def test_particles_stay_on_the_posterior_after_a_sharp_reading_that_comes_late() -> None:
    """Against the exact posterior, which is normal."""
    random, belief = np.random.default_rng(15), pl.DrawnBelief(Curve(), 200)
    precision, weighted = np.diag([1 / 4, 1.0, 1.0]), np.zeros(3)
    for place in [*random.normal(size=100), 6.0, 7.0, 0.0]:
        sd, features = 1.0 if place < 5 else 0.0001, np.array([1.0, place, place**2])
        height = features @ [1.0, -0.7, 0.3] + sd * random.normal()
        precision += np.outer(features, features) / sd**2
        weighted += features * height / sd**2
        belief.update({"place": place}, "look", {"place": place}, height)
    exact_sd = np.sqrt(np.diag(np.linalg.inv(precision)))
    mean, sd = np.array(list(found(belief).values())).T
    assert (np.abs(mean - np.linalg.solve(precision, weighted)) < 0.5 * exact_sd).all()
    assert (np.abs(np.log(sd / exact_sd)) < np.log(1.6)).all()


def test_moves_leave_the_joint_distribution_unchanged() -> None:
    """Geweke's test: θ from the prior and a history given θ; after moves, θ and the history have the same joint law."""
    model = Mixed()
    view, hidden, count = model.compiled_form.kernel_view(), model.hidden, 3000
    theta = np.zeros((count, hidden.words), np.uint64)
    view.draw_prior(theta, rng.stream(3))
    before = theta.view(hidden.dtype).reshape(-1).copy()
    heads_chance = before["p"] * np.where(before["kind"] == 0, 1.0, 0.5)
    seen = np.random.default_rng(3).random((count, 4)) < heads_chance[:, None]
    out, stream, x = allocate_outcomes(view.kernel_model, 4), rng.stream(4), np.zeros(1, np.uint64)
    changed = 0
    for i in range(count):
        history = empty_history(view)
        for o in seen[i]:
            history = extended(history, x, 0, x, int(o))
        chain = make_chain(hidden, np.array([[1.5]]), history, history._replace(steps=0))
        particle = Weighed(theta[i : i + 1], np.zeros(1), np.zeros(1))
        weigh_history(view.kernel_model, history, particle.theta, particle.earlier, out)
        changed += move_drawn(view.kernel_model, chain, particle, 6, stream, out)
    after = theta.view(hidden.dtype).reshape(-1)
    assert changed > count
    assert stats.kstest(after["p"], stats.beta(2, 2).cdf).pvalue > ERROR_RATE
    heads = seen.sum(axis=1)
    for statistic in (
        lambda v: v["kind"],
        lambda v: v["p"] * heads,
        lambda v: v["p"] ** 2,
        lambda v: v["kind"] * heads,
    ):
        assert stats.ttest_1samp(statistic(after) * 1.0 - statistic(before), 0.0).pvalue > ERROR_RATE


def test_moves_leave_numbers_of_every_distribution_on_the_posterior() -> None:
    """The same for Uniform, Normal, LogNormal, Beta and Gamma, correlated by two readings of functions of them all."""
    model = EveryKind()
    view, hidden, count = model.compiled_form.kernel_view(), model.hidden, 2000
    theta = np.zeros((count, hidden.words), np.uint64)
    view.draw_prior(theta, rng.stream(1003))
    before = theta.view(hidden.dtype).reshape(-1).copy()
    mean = before["u"] + before["n"] - before["l"] * before["b"] + 0.5 * before["g"]
    readings = np.random.default_rng(1003).normal(mean[:, None], 0.7, (count, 2))
    out, stream, x = allocate_outcomes(view.kernel_model, 4), rng.stream(1004), np.zeros(1, np.uint64)
    factor, changed = 0.5 * np.eye(5), 0
    for i in range(count):
        history = empty_history(view, 2)
        for word in (readings[i] + 0.0).view(np.uint64):
            history = extended(history, x, 0, np.array([0, word], np.uint64), 0)
        chain = make_chain(hidden, factor, history, history._replace(steps=0))
        particle = Weighed(theta[i : i + 1], np.zeros(1), np.zeros(1))
        weigh_history(view.kernel_model, history, particle.theta, particle.earlier, out)
        changed += move_drawn(view.kernel_model, chain, particle, 10, stream, out)
    after = theta.view(hidden.dtype).reshape(-1)
    assert changed > 2 * count
    priors = {"u": stats.uniform(-1, 3), "n": stats.norm(0.5, 1), "l": stats.lognorm(0.5, scale=np.exp(-0.5)),
              "b": stats.beta(2, 3), "g": stats.gamma(1.5, scale=0.8)}  # fmt: skip
    for field, prior in priors.items():
        assert stats.kstest(after[field], prior.cdf).pvalue > ERROR_RATE
        for weight in (1.0, readings.mean(axis=1)):
            assert stats.ttest_1samp((after[field] - before[field]) * weight, 0.0).pvalue > ERROR_RATE


@pytest.mark.parametrize("kind", [pl.QuadratureBelief, pl.DrawnBelief])
def test_an_impossible_step_changes_nothing_and_a_narrow_one_is_found(kind: Any) -> None:
    belief = kind(Bounded())
    look(belief, np.array([1, 0]), np.array([10.0, 10.01]))  # no node and hardly a particle lies between
    mean, sd = found(belief)["position"]
    assert mean == pytest.approx(10.005, abs=0.001) and sd == pytest.approx(0.01 / np.sqrt(12), rel=0.15)
    with pytest.raises(pl.ImpossibleObservationError, match="'above'"):
        look(belief, np.array([1]), np.array([20.0]))
    assert found(belief)["position"] == (mean, sd)
    belief.recover()
    look(belief, np.array([1]), np.array([20.0]))
    assert found(belief)["position"][0] == pytest.approx(25.0, abs=0.6)


def test_same_seed_same_bytes() -> None:
    _, seen, _, _ = bernoulli(30)
    bytes_of = []
    for seed in (5, 5, 6):
        belief = pl.DrawnBelief(Bernoulli(), 100)
        belief.reset(seed)
        look(belief, seen[:20])
        twin = belief.copy()
        for each in (belief, twin):
            look(each, seen[20:])
            bytes_of.append(each._theta.tobytes() + each.probabilities.tobytes())
    assert len(set(bytes_of[:4])) == 1 and bytes_of[4] not in bytes_of[:4]


def test_moves_end_early_if_time_is_short() -> None:
    _, seen, _, _ = bernoulli(30)
    belief = pl.DrawnBelief(Bernoulli(), 1000)
    belief.update_budget = Budget(1e-5)
    look(belief, seen)
    assert belief.terms < 20_000 and found(belief)["p"][0] == pytest.approx(found_by_grid(seen), abs=0.1)


def found_by_grid(seen: np.ndarray) -> float:
    return float(stats.beta(2 + seen.sum(), 3 + len(seen) - seen.sum()).mean())


class Push(pl.Model):
    """Push a box of unknown mass: a light one gently, a heavy one hard. Trying tells how it moves."""

    state = pl.State(done=bool)
    hidden = pl.Hidden(mass=pl.Uniform(0.5, 2.0), kind=("wood", "stone"))
    actions = ("try", "gently", "hard")
    observations = ("still", "moved")
    discount = 0.95
    horizon = 30

    def transition(m, x, theta, a, y):
        y.done = a != 0

    def observation(m, y, theta, a, z):
        if a == 0:
            z[1] = (2.1 - theta.mass) / 1.7 if theta.kind == 0 else 0.9 * (2.1 - theta.mass) / 1.7
            z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        if a == 0:
            return -0.1
        heavy = theta.mass > 1.25
        return 10.0 if heavy == (a == 2) else -10.0

    def terminal(m, x):
        return x.done


class RoughPush(Push):
    """Three hidden numbers, of which two tell nothing."""

    hidden = pl.Hidden(mass=pl.Uniform(0.5, 2.0), kind=("wood", "stone"), drag=pl.Gamma(2, 1), tilt=pl.Normal(0, 1))


@pytest.mark.parametrize(("model", "kind"), [(Push, pl.QuadratureBelief), (RoughPush, pl.DrawnBelief)])
def test_pomdp_lite_plans_without_a_prior_or_a_move(model: type[pl.Model], kind: type[pl.Belief]) -> None:
    problem_conforms(model())
    planner = pl.PomdpLite(model(), beta=1.0, particles=300)
    planner.prepare()
    assert isinstance(planner.belief, kind)
    steps = []
    episodes = [run_episode(planner, pl.ModelWorld(planner.model), 0, i, on_step=steps.append) for i in range(30)]
    assert np.mean([e.discounted for e in episodes]) > 3.0  # without trying it is 0
    notes = [note for step in steps for note in step.decision.notes]
    assert all(isinstance(note, StepNote) for note in notes) and not any(e.notes for e in episodes)
    assert any("effective particles of 300" in note and "moves accepted" in note for note in notes) == (
        kind is pl.DrawnBelief
    )


def test_other_planners_take_distributions() -> None:
    for planner in (pl.Pomcp(Push(), sims=50, particles=100), pl.Despot(Push(), sims=20), pl.MeanMdp(Push())):
        planner.prepare()
        run_episode(planner, pl.ModelWorld(planner.model), 0, 0)


def test_a_belief_is_shown_as_means_with_intervals_and_probabilities() -> None:
    model = Push()
    belief = pl.initial_belief(model)
    mass, wood, stone = belief_lines(model, belief.marginals())
    assert (mass.name, mass.mean) == ("mass", "1.25 (0.54 … 1.96)")
    assert (wood.label, wood.number, stone.label) == ("wood", pytest.approx(0.5), "stone")
    assert set(belief.mean()) == set(belief.quantile(0.5)) == {"mass"}


def test_which_belief_fits() -> None:
    class Many(Push):
        hidden = pl.Hidden(mass=pl.Uniform(0.5, 2.0), kind=tuple(f"kind {i}" for i in range(30)))

    assert isinstance(pl.initial_belief(Many()), pl.DrawnBelief)
    with pytest.raises(pl.UnsuitableError, match="one or two hidden numbers"):
        pl.QuadratureBelief(Many())


class Drawn(Bernoulli):
    """The same with a prior that only the model knows, and no `move`."""

    hidden = pl.Population(p=float)

    def prior(m, theta, random):
        theta.p = pl.uniform(random)


def test_a_population_without_a_move_is_renewed_from_the_prior_and_says_so() -> None:
    belief = pl.initial_belief(Drawn())
    assert type(belief) is pl.ParticleBelief and belief.notes == ()
    look(belief, np.array([1]))
    said = "particles are renewed by draws from the prior alone; define move, or use Hidden with distributions"
    assert belief.notes[0] == said
    assert belief.notes[1:] == (
        f"{belief.effective:.0f} effective particles of 1000, {belief.acceptance:.0%} of moves accepted",
    )
    found = pl.check_model(Drawn()).findings
    assert [f.fatal for f in found] == [False] and "the hidden Population has no move" in found[0].message


def test_draws_from_the_prior_keep_the_posterior() -> None:
    """After 12 successes in 40 trials the posterior is Beta(13, 29). Without moves, resampling would leave few values."""
    seen = np.array([1] * 12 + [0] * 28)
    np.random.default_rng(1000).shuffle(seen)
    belief = pl.initial_belief(Drawn())
    belief.reset(1000)
    look(belief, seen)
    p = np.array([[particle.theta.p, particle.probability] for particle in belief.particles()])
    mean = float(p[:, 0] @ p[:, 1])
    sd = math.sqrt(float((p[:, 0] - mean) ** 2 @ p[:, 1]))
    exact_sd = math.sqrt(13 * 29 / (42**2 * 43))
    assert mean == pytest.approx(13 / 42, abs=5 * exact_sd / math.sqrt(300)) and sd == pytest.approx(exact_sd, rel=0.15)
    assert len(p) > 500 and 0.02 < belief.acceptance < 0.9
