"""Hidden numbers by distribution: what a user declares in Hidden(...), and the same as arrays for kernels."""

import math
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Words
from pomdplite.errors import ModelError, shown

UNIFORM, NORMAL, LOG_NORMAL, BETA, GAMMA, LISTED = range(6)
_LARGEST_LOG = 700.0  # exp of more is infinite
_TAIL = 9.0  # standard deviations beyond which no draw lies


@dataclass(frozen=True)
class Distribution:
    """The prior of a hidden number; each kind has two parameters."""

    kind: ClassVar[int]

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
                raise self._wrong(f"{name} must be a number, not {shown(value)}")
            if not math.isfinite(value):
                raise self._wrong(f"{name} must be finite, not {value!r}")
            object.__setattr__(self, name, float(value))
        self._check()

    def _check(self) -> None:
        """Raise a ModelError if there is no such distribution."""

    def _wrong(self, reason: str) -> ModelError:
        return ModelError(f"{type(self).__name__}({', '.join(vars(self))}): {reason}.")

    def _check_positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) <= 0:
                raise self._wrong(f"{name} must be positive, not {getattr(self, name):g}")

    @property
    def parameters(self) -> tuple[float, float]:
        """The two parameters, as kernels use them."""
        return astuple(self)

    @property
    def log_constant(self) -> float:
        """The logarithm of the factor that makes the density of the unconstrained number integrate to one."""
        return 0.0

    @property
    def mode(self) -> float:
        """Where the density of the unconstrained number is highest."""
        return 0.0

    @property
    def support(self) -> tuple[float, float]:
        """The interval in which the number lies."""
        return 0.0, math.inf

    def __str__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{value:g}' for value in vars(self).values())})"


@dataclass(frozen=True)
class Uniform(Distribution):
    """A number between low and high, each as likely as any other."""

    low: float
    high: float
    kind: ClassVar[int] = UNIFORM

    def _check(self) -> None:
        if not self.low < self.high:
            raise self._wrong(f"low must be less than high, but {self.low:g} is not less than {self.high:g}")
        if not math.isfinite(self.high - self.low) or math.nextafter(self.low, self.high) >= self.high:
            raise self._wrong(f"the numbers from {self.low!r} to {self.high!r} cannot be told apart in 64 bits")

    @property
    def support(self) -> tuple[float, float]:
        """From low to high."""
        return self.low, self.high

    @property
    def log_constant(self) -> float:
        """−log √(2π)."""
        return -0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Normal(Distribution):
    """A number around its mean, with standard deviation sd."""

    mean: float
    sd: float
    kind: ClassVar[int] = NORMAL

    def _check(self) -> None:
        self._check_positive("sd")

    @property
    def support(self) -> tuple[float, float]:
        """Any number; a log-normal one is positive."""
        return -math.inf if self.kind == NORMAL else 0.0, math.inf

    @property
    def log_constant(self) -> float:
        """−log(sd √(2π))."""
        return -math.log(self.sd) - 0.5 * math.log(2 * math.pi)

    @property
    def mode(self) -> float:
        """That of a normal number, or of the logarithm of a log-normal one."""
        return self.mean


@dataclass(frozen=True)
class LogNormal(Normal):
    """A positive number whose logarithm is Normal(mean, sd); its median is exp(mean)."""

    kind: ClassVar[int] = LOG_NORMAL

    def _check(self) -> None:
        super()._check()
        if abs(self.mean) + _TAIL * self.sd > _LARGEST_LOG:
            raise self._wrong("mean and sd are those of the logarithm, and these give numbers beyond 64 bits")


@dataclass(frozen=True)
class Beta(Distribution):
    """A probability: what is known after a − 1 successes and b − 1 failures. Its mean is a / (a + b)."""

    a: float
    b: float
    kind: ClassVar[int] = BETA

    def _check(self) -> None:
        self._check_positive("a", "b")

    @property
    def support(self) -> tuple[float, float]:
        """From 0 to 1."""
        return 0.0, 1.0

    @property
    def log_constant(self) -> float:
        """−log B(a, b)."""
        return math.lgamma(self.a + self.b) - math.lgamma(self.a) - math.lgamma(self.b)

    @property
    def mode(self) -> float:
        """The logit of the mean."""
        return math.log(self.a / self.b)


@dataclass(frozen=True)
class Gamma(Distribution):
    """A positive number, such as a rate, with mean shape · scale and variance shape · scale²."""

    shape: float
    scale: float
    kind: ClassVar[int] = GAMMA

    def _check(self) -> None:
        self._check_positive("shape", "scale")

    @property
    def log_constant(self) -> float:
        """−log Γ(shape)."""
        return -math.lgamma(self.shape)

    @property
    def mode(self) -> float:
        """The logarithm of the mean."""
        return math.log(self.shape * self.scale)


class DistributionTable(NamedTuple):
    """The coordinates of θ, each of which fills one word: the continuous ones, then the listed ones."""

    continuous: int  # how many of the coordinates are continuous
    word: Ints  # [coordinate]
    kind: Ints  # [coordinate]
    one: Floats  # [coordinate] first parameter
    two: Floats  # [coordinate] second parameter
    log_constant: Floats  # [coordinate]
    mode: Floats  # [coordinate] of the unconstrained number
    first: Ints  # [coordinate + 1] the first of a listed coordinate's values
    values: Words  # [value] the word of each listed value
    weights: Floats  # [value] its prior probability


class Coordinate(NamedTuple):
    """One number of θ: its distribution, or its listed values with their probabilities."""

    distribution: Distribution | None
    values: Words
    weights: Floats


def distribution_table(coordinates: list[Coordinate]) -> DistributionTable:
    """The coordinates, given word by word, as arrays."""
    word = sorted(range(len(coordinates)), key=lambda i: coordinates[i].distribution is None)
    ordered = [coordinates[i] for i in word]
    distributions: list[Any] = [c.distribution for c in ordered]
    parameters = [(0.0, 0.0) if d is None else d.parameters for d in distributions]
    return DistributionTable(
        continuous=sum(d is not None for d in distributions),
        word=np.array(word, np.int64),
        kind=np.array([LISTED if d is None else d.kind for d in distributions], np.int64),
        one=np.array([one for one, _ in parameters]),
        two=np.array([two for _, two in parameters]),
        log_constant=np.array([0.0 if d is None else d.log_constant for d in distributions]),
        mode=np.array([0.0 if d is None else d.mode for d in distributions]),
        first=np.concatenate([[0], np.cumsum([len(c.values) for c in ordered])]).astype(np.int64),
        values=np.concatenate([c.values for c in ordered]).astype(np.uint64),
        weights=np.concatenate([c.weights for c in ordered]).astype(np.float64),
    )
