"""Real numbers in a model: observations that are numbers, and the noise of steps and readings."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.errors import ModelError, shown
from pomdplite.model.records import record_dtype
from pomdplite.model.spaces import State


class Gaussian:
    """Normal noise that the library adds: the standard deviation of each field that has some.

    Gaussian(speed=0.05) adds N(0, 0.05²) to `speed`. A field that is an array takes one number, or one for each entry.
    """

    def __init__(self, **sds: Any) -> None:
        if not sds:
            raise ModelError("Gaussian needs the standard deviation of at least one field, e.g. Gaussian(speed=0.1).")
        self.sds: dict[str, np.ndarray[Any, Any]] = {}
        for name, sd in sds.items():
            try:
                numbers = np.asarray(sd, np.float64)
            except (TypeError, ValueError):
                numbers = np.array(math.nan)
            if not np.all(np.isfinite(numbers)) or np.any(numbers < 0):
                raise ModelError(f"Gaussian: the standard deviation of {name} must be at least 0, not {shown(sd)}.")
            self.sds[name] = numbers

    def __repr__(self) -> str:
        return f"Gaussian({', '.join(f'{name}={sd.tolist()!r}' for name, sd in self.sds.items())})"


class Reading(Sequence[str]):
    """Observations that are numbers: the fields of what a sensor reads, with types as in `State`.

    noise     Gaussian(...), or how many standard normal numbers `observation` is given. By default `observation` may
              give the standard deviation of each field; where it gives none, the reading is exact.

    It lists no observations, so it is an empty sequence of names.
    """

    def __init__(self, *, noise: Gaussian | int | None = None, **fields: Any) -> None:
        if not fields:
            raise ModelError("Reading needs at least one field, e.g. Reading(distance=float).")
        try:
            self.space = State(**fields)
        except ModelError as error:
            raise ModelError(str(error).replace("State field", "Reading field", 1)) from None
        self.dtype, self.words, self.describe = self.space.dtype, self.space.words, self.space.describe
        if not isinstance(noise, Gaussian | None) and not is_count(noise):
            raise ModelError(
                f"Reading: noise must be a Gaussian(...), or how many standard normal numbers there are, not "
                f"{shown(noise)}."
            )
        self.noise = noise

    def __len__(self) -> int:
        return 0

    def __getitem__(self, index: Any) -> Any:
        raise IndexError("a reading lists no observations")

    def __repr__(self) -> str:
        return f"Reading({self.dtype.descr}, labels={self.space.labels}, angles={self.space.angles}, {self.noise!r})"


def is_count(noise: Any) -> bool:
    """Whether this is a number of random numbers."""
    return isinstance(noise, (int, np.integer)) and not isinstance(noise, bool) and int(noise) >= 1


@dataclass(frozen=True)
class NoiseLayout:
    """How noise enters the record of a next state or of a reading."""

    form: str  # as in model.functions.Form
    count: int = 0  # random numbers
    words: tuple[int, ...] = ()  # Gaussian: the word of the record that each of them is added to
    angles: tuple[bool, ...] = ()  # ... whether that word is an angle
    sds: tuple[float, ...] = ()  # ... and its standard deviation, as declared
    spread: np.dtype[Any] | None = None  # the record of standard deviations, where functions may write them


def given_noise(count: int) -> NoiseLayout:
    """Standard normal numbers, which the user's function makes of what it likes."""
    return NoiseLayout("given", int(count))


def gaussian_noise(space: State, declared: Mapping[str, Any], owner: str) -> NoiseLayout:
    """Noise that is added to these fields; owner: what messages call the declaration."""
    fields: dict[str, Any] = {}
    words, angles, sds = list[int](), list[bool](), list[float]()
    unknown = [name for name in declared if name not in (space.dtype.names or ())]
    if unknown:
        raise ModelError(f"{owner}: there is no field {unknown[0]}.")
    for name in sorted(declared, key=lambda name: _offset(space, name)):  # kernels go through the words in order
        kind = space.dtype[name]
        if kind.base != np.float64:
            raise ModelError(f"{owner}: {name} cannot have noise, because its type is not float or an array of float.")
        first, entries = _offset(space, name) // 8, int(np.prod(kind.shape, dtype=int))
        try:
            own = np.broadcast_to(declared[name], kind.shape)
        except ValueError:
            shape = np.shape(declared[name])
            raise ModelError(f"{owner}: {name} has the shape {kind.shape}, but its noise {shape}.") from None
        fields[name] = (np.float64, kind.shape) if kind.shape else np.float64
        words += range(first, first + entries)
        angles += [name in space.angles] * entries
        sds += own.ravel().tolist()
    return NoiseLayout("gaussian", len(words), tuple(words), tuple(angles), tuple(sds), record_dtype(fields))


def _offset(space: State, name: str) -> int:
    """Where a field begins, in bytes."""
    fields = space.dtype.fields
    assert fields is not None
    return int(fields[name][1])


def reading_noise(reading: Reading, owner: str) -> NoiseLayout:
    """The noise of a reading."""
    if is_count(reading.noise):
        return given_noise(reading.noise)  # type: ignore[arg-type]
    sds = reading.noise.sds if isinstance(reading.noise, Gaussian) else {}
    numbers = [name for name in reading.dtype.names or () if reading.dtype[name].base == np.float64]
    wrong = [name for name in sds if name not in numbers]
    if wrong or numbers:
        return gaussian_noise(reading.space, {name: sds.get(name, 0.0) for name in [*wrong, *numbers]}, owner)
    return NoiseLayout("exact")
