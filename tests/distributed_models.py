"""Models with hidden numbers by distribution, and their posteriors computed apart from the library."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special, stats

import pomdplite as pl

COUNTS = 60


class Looking(pl.Model):
    """One action, one state: only the observations matter."""

    actions = ("look",)
    discount = 0.9
    horizon = 12_000

    def transition(m, x, theta, a, y):
        pass

    def reward(m, x, theta, a):
        return 0.0


class Bernoulli(Looking):
    """A coin of unknown bias."""

    hidden = pl.Hidden(p=pl.Beta(2.0, 3.0))
    observations = ("tails", "heads")

    def observation(m, y, theta, a, z):
        z[1] = theta.p
        z[0] = 1.0 - theta.p


class Poisson(Looking):
    """Events at an unknown rate; as many as COUNTS − 1 are told apart."""

    hidden = pl.Hidden(rate=pl.Gamma(3.0, 2.0))
    observations = tuple(map(str, range(COUNTS)))

    def observation(m, y, theta, a, z):
        p = math.exp(-theta.rate)
        left = 1.0
        for k in range(COUNTS - 1):
            z[k] = p
            left -= p
            p *= theta.rate / (k + 1)
        z[COUNTS - 1] = max(left, 0.0)


class Probit(Looking):
    """A hidden number that is seen through Φ."""

    hidden = pl.Hidden(mu=pl.Normal(0.5, 1.0))
    observations = ("no", "yes")

    def observation(m, y, theta, a, z):
        z[1] = 0.5 * math.erfc(-theta.mu / math.sqrt(2.0))
        z[0] = 0.5 * math.erfc(theta.mu / math.sqrt(2.0))


class Logistic(Looking):
    """Answers whose log odds are a line over x: intercept and slope are hidden, and correlated once answers are in."""

    state = pl.State(place=float)
    hidden = pl.Hidden(intercept=pl.Normal(0.0, 2.0), slope=pl.LogNormal(0.0, 0.5))
    observations = ("no", "yes")

    def observation(m, y, theta, a, z):
        yes = 1.0 / (1.0 + math.exp(-theta.intercept - theta.slope * y.place))
        z[1] = yes
        z[0] = 1.0 - yes


class Sharp(Looking):
    """A position on a line, and whether it lies above a mark, with an error of about 0.0001."""

    state = pl.State(mark=float)
    hidden = pl.Hidden(position=pl.Uniform(-30.0, 30.0))
    observations = ("below", "above")

    def observation(m, y, theta, a, z):
        above = 0.5 + math.atan((theta.position - y.mark) / 0.0001) / math.pi
        z[1] = min(1.0, max(0.0, above))
        z[0] = 1.0 - z[1]


class Bounded(Sharp):
    """The same without any error."""

    def observation(m, y, theta, a, z):
        z[1] = 1.0 if theta.position > y.mark else 0.0
        z[0] = 1.0 - z[1]


class Mixed(Looking):
    """A coin of unknown bias that is fair or, if it is of the other kind, shows heads twice as rarely."""

    hidden = pl.Hidden(p=pl.Beta(2.0, 2.0), kind={"plain": 0.7, "odd": 0.3})
    observations = ("tails", "heads")

    def observation(m, y, theta, a, z):
        heads = theta.p if theta.kind == 0 else 0.5 * theta.p
        z[1] = heads
        z[0] = 1.0 - heads


class Sensor(Looking):
    """Normal readings of an unknown number."""

    hidden = pl.Hidden(mu=pl.Normal(0.5, 2.0))
    observations = pl.Reading(d=float, noise=pl.Gaussian(d=0.5))

    def observation(m, y, theta, a, z):
        z.d = theta.mu


class SharpSensor(Sensor):
    """The same with an error of 0.0001, on a long line."""

    hidden = pl.Hidden(mu=pl.Uniform(-30.0, 30.0))
    observations = pl.Reading(d=float, noise=pl.Gaussian(d=0.0001))


class UnknownSensor(Looking):
    """Normal readings of an unknown number with unknown spread."""

    hidden = pl.Hidden(mu=pl.Normal(0.0, 2.0), spread=pl.LogNormal(-0.5, 0.7))
    observations = pl.Reading(d=float)

    def observation(m, y, theta, a, z, sd):
        z.d = theta.mu
        sd.d = theta.spread


class EveryKind(Looking):
    """A number of every distribution, and readings of a function of them all."""

    hidden = pl.Hidden(u=pl.Uniform(-1.0, 2.0), n=pl.Normal(0.5, 1.0), l=pl.LogNormal(-0.5, 0.5), b=pl.Beta(2.0, 3.0),
                       g=pl.Gamma(1.5, 0.8))  # fmt: skip
    observations = pl.Reading(d=float, noise=pl.Gaussian(d=0.7))

    def observation(m, y, theta, a, z):
        z.d = theta.u + theta.n - theta.l * theta.b + 0.5 * theta.g


def read(belief: pl.Belief, readings: NDArray[np.float64]) -> None:
    """Tell the belief these readings, in a state that does not change."""
    x = np.zeros(1, np.uint64)
    for words in (readings + 0.0).view(np.uint64):
        belief._advance(x, 0, np.array([0, words], np.uint64), 0)


def unknown_moments(readings: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means and standard deviations of (mu, log spread), by brute force on ever smaller grids."""
    n, mean, square = len(readings), readings.mean(), (readings**2).mean()

    def density(mu, log_spread):
        squares = n * (square - 2 * mu * mean + mu**2)
        likelihood = -n * log_spread - squares / 2 * np.exp(-2 * log_spread)
        return likelihood + stats.norm.logpdf(mu, 0.0, 2.0) + stats.norm.logpdf(log_spread, -0.5, 0.7)

    return plane_moments(density, np.array([[-12.0, 12.0], [-5.0, 4.0]]))


def plane_moments(density, box: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means and standard deviations under an unnormalised log density of two numbers, by ever smaller grids."""
    found: list[tuple[float, float]] = []
    for _ in range(8):
        one, two = (np.linspace(*side, 401) for side in box)
        logs = density(one[:, None], two[None, :])
        w = np.exp(logs - logs.max())
        w /= w.sum()
        found = []
        for marginal, values in ((w.sum(axis=1), one), (w.sum(axis=0), two)):
            mean = marginal @ values
            found.append((mean, math.sqrt(marginal @ (values - mean) ** 2)))
        reach = [12 * max(sd, v[1] - v[0]) for (_, sd), v in zip(found, (one, two), strict=True)]
        box = np.array([[mean - r, mean + r] for (mean, _), r in zip(found, reach, strict=True)])
    return np.array(found)


def look(belief: pl.Belief, seen: NDArray[np.int64], places: NDArray[np.float64] | None = None) -> None:
    """Tell the belief these observations, each made in the state with this number; by default always in one state."""
    words = np.zeros((len(seen), 1), np.uint64) if places is None else (places + 0.0).view(np.uint64)[:, None]
    for o, y in zip(seen, words, strict=True):
        belief._advance(y, 0, y, int(o))


def moments(density, low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation of an unnormalised log density, by SciPy's adaptive integration around its peak."""
    grid = np.linspace(low, high, 20_001)
    logs = density(grid)
    peak, shift = grid[np.argmax(logs)], logs.max()
    near = grid[logs > shift - 45]
    ends = max(low, near[0] - 1e-3), min(high, near[-1] + 1e-3)
    total, first, second = (
        integrate.quad(lambda v, k=k: (v - peak) ** k * np.exp(density(v) - shift), *ends, points=[peak], limit=400)[0]
        for k in range(3)
    )
    mean = first / total
    return peak + mean, math.sqrt(second / total - mean**2)


def probit_moments(seen: NDArray[np.int64]) -> tuple[float, float]:
    heads, n = int(seen.sum()), len(seen)

    def density(mu):
        return stats.norm.logpdf(mu, 0.5, 1.0) + heads * special.log_ndtr(mu) + (n - heads) * special.log_ndtr(-mu)

    return moments(density, -8.0, 8.0)


def sharp_moments(pairs: int) -> tuple[float, float]:
    """Of the position that was found above 10.000 and below 10.001, this many times each."""
    grid = np.linspace(9.99, 10.01, 200_001)
    above = 0.5 + np.arctan((grid - 10.0) / 0.0001) / np.pi
    below = 0.5 - np.arctan((grid - 10.001) / 0.0001) / np.pi
    weights = (above * below) ** pairs
    weights /= weights.sum()
    mean = weights @ grid
    return mean, math.sqrt(weights @ (grid - mean) ** 2)


def mixed_moments(seen: NDArray[np.int64]) -> tuple[float, float, float]:
    """P(plain), and mean and standard deviation of p."""
    heads, n, p = int(seen.sum()), len(seen), np.linspace(0, 1, 100_001)[1:-1]
    logs = np.array(
        [math.log(weight) + stats.beta.logpdf(p, 2, 2) + heads * np.log(p * rate) + (n - heads) * np.log1p(-p * rate)
         for weight, rate in ((0.7, 1.0), (0.3, 0.5))]
    )  # fmt: skip
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    mean = float((weights * p).sum())
    return float(weights[0].sum()), mean, math.sqrt(float((weights * (p - mean) ** 2).sum()))


def logistic_moments(seen: NDArray[np.int64], places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Means and standard deviations of (intercept, log slope), by brute force on ever smaller grids."""
    box = np.array([[-14.0, 14.0], [-4.0, 4.0]])
    found: list[tuple[float, float]] = []
    for _ in range(6):
        i, s = (np.linspace(*side, 81) for side in box)
        logs = stats.norm.logpdf(i, 0.0, 2.0)[:, None] + stats.norm.logpdf(s, 0.0, 0.5)[None, :]
        for o, place in zip(seen, places, strict=True):
            odds = i[:, None] + np.exp(s)[None, :] * place
            logs = logs - np.logaddexp(0.0, -odds if o else odds)
        w = np.exp(logs - logs.max())
        w /= w.sum()
        found = []
        for marginal, values in ((w.sum(axis=1), i), (w.sum(axis=0), s)):
            mean = marginal @ values
            found.append((mean, math.sqrt(marginal @ (values - mean) ** 2)))
        reach = [9 * max(sd, v[1] - v[0]) for (_, sd), v in zip(found, (i, s), strict=True)]
        box = np.array([[mean - r, mean + r] for (mean, _), r in zip(found, reach, strict=True)])
    return np.array(found)
