"""The search space: ranges of numbers and lists of choices, as `beta=0.1:100:log` or `solver=exact,uct`."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pomdplite.errors import UsageError, shown
from pomdplite.model.model import Model
from pomdplite.planners import make_planner, parameter_kinds

# Successive halving: whatever the number of trials, the first ones cover the range evenly, and more of them refine it.
_FRACTIONS = (0, 1, 1 / 2, 1 / 4, 3 / 4, 1 / 8, 3 / 8, 5 / 8, 7 / 8)
_LARGEST = 1e100  # end of a range, so that its width is a number as well
_DIGITS = 3  # significant digits of a value, so that results are readable and can be copied into a study


@dataclass(frozen=True)
class Range:
    """Numbers from low to high."""

    name: str
    low: float
    high: float
    log: bool = False  # logarithmic scale
    whole: bool = False  # integers only
    source: str = field(default="", compare=False)  # what the user wrote, for errors

    @property
    def text(self) -> str:
        """The range as `--param` takes it."""
        return f"{self.name}={self.low!r}:{self.high!r}" + (":log" if self.log else "")

    @property
    def extremes(self) -> tuple[Any, ...]:
        """Values to check: a planner that accepts these accepts all."""
        return self.low, self.high

    def grid(self) -> list[Any]:
        """Values that cover the range evenly on its scale."""
        low, high = (math.log(v) if self.log else v for v in (self.low, self.high))
        places = [low + fraction * (high - low) for fraction in _FRACTIONS]
        return list(dict.fromkeys(self.rounded(math.exp(v) if self.log else v) for v in places))

    def suggest(self, trial: Any) -> Any:
        """Optuna's next value."""
        if self.whole:
            return trial.suggest_int(self.name, int(self.low), int(self.high), log=self.log)
        return self.rounded(trial.suggest_float(self.name, self.low, self.high, log=self.log))

    def rounded(self, value: float) -> float:
        """Rounded to three digits of the value or of the range's width; the ends stay exact."""
        if self.whole:
            return round(value)
        size = abs(value) if self.log else self.high - self.low
        digits = _DIGITS - 1 - math.floor(math.log10(size)) + (0 if self.log else 1)
        return min(max(round(value, digits), self.low), self.high)


@dataclass(frozen=True)
class Choice:
    """One of several values."""

    name: str
    values: tuple[Any, ...]
    source: str = field(default="", compare=False)

    @property
    def text(self) -> str:
        """The choices as `--param` takes them."""
        return f"{self.name}={','.join(v if isinstance(v, str) else json.dumps(v) for v in self.values)}"

    @property
    def extremes(self) -> tuple[Any, ...]:
        """Values to check: a planner that accepts these accepts all."""
        return self.values

    def grid(self) -> list[Any]:
        """Every choice."""
        return list(self.values)

    def suggest(self, trial: Any) -> Any:
        """Optuna's next choice."""
        return trial.suggest_categorical(self.name, list(self.values))


Parameter = Range | Choice


def parse_parameter(text: str) -> Parameter:
    """Parse a parameter from the command line."""
    source = f"--param {shown(text)[1:-1]}"
    name, _, values = text.partition("=")
    if not name or not values:
        raise UsageError(f"{source}: give name=low:high, name=low:high:log or name=choice,choice.")
    if ":" in values:
        low, high, *scale = (_value(v) for v in values.split(":"))
        return _range(name, low, high, scale, source)
    return _choice(name, [_value(v) for v in values.split(",")], source)


def as_parameter(name: str, given: Any) -> Parameter:
    """A parameter given in Python: (low, high), (low, high, "log"), or a list of choices."""
    source = f"params[{name!r}]"
    if isinstance(given, tuple) and len(given) in (2, 3):
        low, high, *scale = given
        return _range(name, low, high, scale, source)
    if isinstance(given, list):
        return _choice(name, given, source)
    raise UsageError(f"{source}: give (low, high), (low, high, 'log') or a list of choices, not {shown(given)}.")


def check_parameters(parameters: Sequence[Parameter], planner: str, model: Model, options: Mapping[str, Any]) -> None:
    """Raise UsageError for parameters that this planner does not accept on this model."""
    for i, parameter in enumerate(parameters):
        name = parameter.name
        if any(name == other.name for other in parameters[:i]):
            raise UsageError(f"{parameter.source}: {name} is listed twice.")
        if name in options:
            raise UsageError(f"{parameter.source}: {name} cannot be both tuned and set to {shown(options[name])}.")
        try:
            for value in parameter.extremes:
                make_planner(planner, model, **{**options, name: value})
        except UsageError as error:
            raise UsageError(f"{parameter.source}: {error}") from None


def typed_parameter(parameter: Parameter, planner: str) -> Parameter:
    """The parameter with the type that this planner takes."""
    try:
        kinds = parameter_kinds(planner, parameter.name)
    except UsageError as error:
        raise UsageError(f"{parameter.source}: {error}") from None
    return replace(parameter, whole=float not in kinds) if isinstance(parameter, Range) else parameter


def _range(name: str, low: Any, high: Any, scale: Sequence[Any], source: str) -> Range:
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(end, (int, float)) or not abs(end) <= _LARGEST:
            raise UsageError(f"{source}: the ends of a range must be numbers, not {shown(end)}.")
    if list(scale) not in ([], ["log"]):
        raise UsageError(f"{source}: low:high may only be followed by log, not {':'.join(map(str, scale))!r}.")
    if not low < high:
        raise UsageError(f"{source}: the first number of a range must be the smaller one.")
    if scale and low <= 0:
        raise UsageError(f"{source}: a logarithmic range must begin above 0.")
    low, high = (int(end) if end == int(end) else end for end in (low, high))  # 1.0 and 1 are the same range
    return Range(name, low, high, bool(scale), source=source)


def _choice(name: str, values: Sequence[Any], source: str) -> Choice:
    if len(values) < 2 or len({json.dumps(v) for v in values}) < len(values):
        raise UsageError(f"{source}: give a range low:high, or several comma-separated choices without repetition.")
    return Choice(name, tuple(values), source)


def _value(text: str) -> Any:
    """A number, or a word."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
