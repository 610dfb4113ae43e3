"""Hidden numbers by distribution: draws, densities and transformations against SciPy, and what is refused."""

import pickle

import numpy as np
import pytest
from scipy import stats

import pomdplite as pl
from pomdplite import rng
from pomdplite.model.distributions import Distribution
from pomdplite.model.distributions_kernels import (
    draw_distributed,
    from_unconstrained,
    prior_log_densities,
    to_unconstrained,
)
from pomdplite.model.spaces import Distributed
from pomdplite.planners.identity import described

KS_ERROR_RATE = 1e-4  # at which a right distribution fails a Kolmogorov–Smirnov test; the seeds are fixed

KINDS = {
    "uniform": (pl.Uniform(-3.0, 5.0), stats.uniform(-3.0, 8.0)),
    "normal": (pl.Normal(2.0, 0.5), stats.norm(2.0, 0.5)),
    "log-normal": (pl.LogNormal(-1.0, 0.7), stats.lognorm(0.7, scale=np.exp(-1.0))),
    "beta": (pl.Beta(2.0, 5.0), stats.beta(2.0, 5.0)),
    "steep beta": (pl.Beta(0.5, 0.5), stats.beta(0.5, 0.5)),
    "gamma": (pl.Gamma(3.0, 2.0), stats.gamma(3.0, scale=2.0)),
    "steep gamma": (pl.Gamma(0.3, 2.0), stats.gamma(0.3, scale=2.0)),
}
EACH = pytest.mark.parametrize(("given", "reference"), KINDS.values(), ids=KINDS)


def drawn(hidden: Distributed, count: int, seed: int = 0) -> np.ndarray:
    theta = np.zeros((count, hidden.words), np.uint64)
    draw_distributed(hidden.table, theta, rng.stream(seed))
    return theta


@EACH
def test_draws_follow_the_distribution(given: Distribution, reference) -> None:
    theta = drawn(pl.Hidden(number=given), 20_000)
    assert stats.kstest(theta.view(np.float64)[:, 0], reference.cdf).pvalue > KS_ERROR_RATE


@EACH
def test_density_is_that_of_the_unconstrained_number(given: Distribution, reference) -> None:
    """p(z) = p(number) · d number / dz, with the derivative taken numerically; and it integrates to one."""
    table = pl.Hidden(number=given).table
    theta = np.zeros((3, 1), np.uint64)
    found = np.zeros(1)
    for q in (0.02, 0.3, 0.5, 0.8, 0.97):
        theta.view(np.float64)[:] = reference.ppf(q)
        z = np.zeros((3, 1))
        to_unconstrained(table, theta, z)
        middle = z[0, 0]
        z[:, 0] = [middle - 1e-4, middle, middle + 1e-4]
        from_unconstrained(table, z, theta)
        below, here, above = theta.view(np.float64)[:, 0]
        prior_log_densities(table, z[1:2], found)
        assert here == pytest.approx(reference.ppf(q), rel=1e-12)
        assert np.exp(found[0]) == pytest.approx(reference.pdf(here) * (above - below) / 2e-4, rel=1e-5)
    z = np.linspace(-80, 80, 160_001)[:, None]
    logs = np.zeros(len(z))
    prior_log_densities(table, z, logs)
    assert np.exp(logs).sum() * 1e-3 == pytest.approx(1.0, abs=1e-9)


@EACH
def test_extreme_unconstrained_numbers_stay_inside_the_range(given: Distribution, reference) -> None:
    table, z = pl.Hidden(number=given).table, np.array([[-800.0], [800.0]])
    theta, back = np.zeros((2, 1), np.uint64), np.zeros((2, 1))
    from_unconstrained(table, z, theta)
    to_unconstrained(table, theta, back)
    low, high = reference.support()
    assert np.isfinite(back).all() and (low < theta.view(np.float64)).all() and (theta.view(np.float64) < high).all()


def test_mixed_with_listed_values() -> None:
    hidden = pl.Hidden(
        kind=("a", "b"), mass=pl.Uniform(0.5, 2.0), speed={1: 0.2, 2: 0.8}, bias=pl.independent(2, pl.Normal(0, 1)),
        rocks=pl.independent(2, ("bad", "good"), prior=[[0.1, 0.9], [0.7, 0.3]]), wet=(True, False),
    )  # fmt: skip
    assert isinstance(hidden, Distributed) and isinstance(hidden, pl.Population) and not isinstance(hidden, pl.Hidden)
    assert list(hidden.parts) == ["kind", "mass", "speed", "bias[0]", "bias[1]", "rocks[0]", "rocks[1]", "wet"]
    records = drawn(hidden, 20_000).view(hidden.dtype).reshape(-1)
    means = [(records["kind"], 0.5), (records["speed"] == 2, 0.8), (records["rocks"][:, 0], 0.9),
             (records["rocks"][:, 1], 0.3), (records["wet"], 0.5)]  # fmt: skip
    for seen, expected in means:
        assert abs(seen.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / len(records))
    assert stats.kstest(records["mass"], stats.uniform(0.5, 1.5).cdf).pvalue > KS_ERROR_RATE
    assert stats.kstest(records["bias"][:, 1], stats.norm.cdf).pvalue > KS_ERROR_RATE
    assert set(records["speed"]) == {1, 2}
    first = records[:1].copy()[0]
    assert hidden.describe(first).startswith(("kind=a mass=", "kind=b mass=")) and "rocks=[" in hidden.describe(first)


def test_same_seed_same_bytes_and_pickles_alike() -> None:
    hidden = pl.Hidden(p=pl.Beta(2, 2), rate=pl.Gamma(0.4, 1), kind=("a", "b"))
    twin = pickle.loads(pickle.dumps(hidden))
    assert drawn(hidden, 50).tobytes() == drawn(twin, 50).tobytes() != drawn(hidden, 50, seed=1).tobytes()
    assert twin.identity == hidden.identity


class Coin(pl.Model):
    """Call a coin of unknown bias."""

    state = pl.State(flips=int)
    hidden = pl.Hidden(p=pl.Beta(2, 2), kind=("a", "b"))
    actions = ("flip", "call")
    observations = ("tails", "heads")
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.flips = min(3, x.flips + 1)

    def observation(m, y, theta, a, z):
        z[1] = theta.p
        z[0] = 1 - theta.p

    def reward(m, x, theta, a):
        return theta.p - 0.5 if a == 1 else 0.0


def test_a_change_of_the_prior_changes_the_models_identity() -> None:
    class Other(Coin):
        hidden = pl.Hidden(p=pl.Beta(2, 2.5), kind=("a", "b"))

    assert described(Coin()) == described(Coin()) != described(Other())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.Uniform(2.0, 0.5), r"Uniform\(low, high\): low must be less than high, but 2 is not less than 0.5"),
        (lambda: pl.Uniform(1.0, np.nextafter(1.0, 2.0)), "cannot be told apart"),
        (lambda: pl.Normal(0.0, 0.0), r"Normal\(mean, sd\): sd must be positive, not 0"),
        (lambda: pl.LogNormal(0.0, 100.0), "those of the logarithm"),
        (lambda: pl.Beta(0, 1), r"Beta\(a, b\): a must be positive"),
        (lambda: pl.Gamma(1, -1), "scale must be positive"),
        (lambda: pl.Normal("0", 1), "mean must be a number, not '0'"),
        (lambda: pl.Normal(float("nan"), 1), "mean must be finite"),
        (lambda: pl.Hidden(mass=pl.Uniform), "'mass': Uniform needs its two parameters"),
        (lambda: pl.Hidden(mass=(pl.Uniform(0, 1), 2.0)), "must be names or numbers"),
        (lambda: pl.Hidden(mass=pl.independent(2, pl.Beta(1, 1), prior=[0.5, 0.5])), "two priors"),
    ],
)
def test_refused(make, message: str) -> None:
    with pytest.raises(pl.ModelError, match=message):
        make()


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("prior", lambda m, theta, random: None, "already give the prior"),
        ("move", lambda m, x, theta, random: False, "moves their numbers itself"),
        ("depends", lambda m, x, a: 0, "with distributions is whole"),
    ],
)
def test_functions_that_distributions_exclude(name: str, function, message: str) -> None:
    model = type("Wrong", (Coin,), {name: function})()
    with pytest.raises(pl.ModelError, match=message):
        model.compiled_form  # noqa: B018


def test_planners_that_list_hidden_values_refuse_distributions() -> None:
    with pytest.raises(pl.UnsuitableError, match="needs every hidden value listed, but hidden has distributions"):
        pl.CategoricalBelief(Coin())
    with pytest.raises(pl.TooLargeError, match="hidden values cannot be listed"):
        pl.Sarsop(Coin()).prepare()


def test_check_and_world() -> None:
    model = Coin()
    assert pl.check_model(model).ok
    world, found = pl.ModelWorld(model), []
    for episode in range(200):
        world.reset(0, episode)
        found.append(float(world.theta.p))
    assert stats.kstest(found, stats.beta(2, 2).cdf).pvalue > KS_ERROR_RATE
