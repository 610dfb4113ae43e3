"""Calling a model's functions under guard: whatever they raise or overwrite becomes a finding."""

from collections.abc import Callable
from typing import Any

from pomdplite.checking.report import CheckReport
from pomdplite.compile.faults import FunctionFault
from pomdplite.model.faults import explained, fault_text
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Hidden
from pomdplite.rng import stream, uniform

_POOL = 8  # draws of a θ that cannot be listed; drawing may be slow


class Probe:
    """A model under test: its interpreted functions, random hidden values, and the report."""

    def __init__(self, model: Model, report: CheckReport, seed: int) -> None:
        self.model, self.report = model, report
        self.hidden = model.hidden
        self.interpreted = model.compiled_form.interpreted
        self.factored = model.compiled_form.factored
        self.random = stream(seed)
        self._draws: list[Any] = []

    def call(self, name: str, function: Callable[..., Any], *arguments: Any, where: str) -> Any:
        """The result of a function, None if it raised; what it raises becomes a finding."""
        try:
            return function(*arguments)
        except FunctionFault as fault:
            form = self.model.compiled_form
            text = fault_text(form, name, where, fault.kind, fault.number)
            self.report.add(f"{name} {fault.kind.name}", text)
        except Exception as error:  # noqa: BLE001  whatever the user's code raises is the finding
            message = explained(self.model.compiled_form, error)
            self.report.add(f"{name} RAISED", f"{name} raised {type(error).__name__} at {where}: {message}")
        return None

    def seen(self, y: Any, theta: Any, a: int) -> Any:
        """What Z gives in y: the probabilities of observations, or the words of the mean of the reading."""
        if self.model.reading is None:
            return self.interpreted.observation(y, theta, a)
        return to_words(self.model.reading.dtype, self.interpreted.reading(y, theta, a))

    # ------------------------------------------------------------------ hidden values

    def draw_hidden(self) -> Any:
        """A random hidden value."""
        if isinstance(self.hidden, Hidden):
            return self.hidden.record(self.random_values())
        if len(self._draws) < _POOL:
            self._draws.append(self.model.compiled_form.draw_hidden(self.random))
        return self._draws[int(uniform(self.random) * len(self._draws))]

    def random_values(self) -> list[int]:
        """The number of a random value of each component."""
        return [int(uniform(self.random) * len(c)) for c in self.hidden.components]

    # ------------------------------------------------------------------ descriptions

    def place(self, x: Any, theta: Any = None, a: int | None = None, name: str = "x") -> str:
        """`x = (row=1 col=2), theta: rocks[3]=good, action 'check-3'`; name: what to call the state."""
        text = f"{name} = ({self.model.describe_state(x)})"
        if theta is not None:
            text += f", theta: {self.hidden.describe(theta)}"
        return text if a is None else f"{text}, action {self.model.actions[a]!r}"

    def component_name(self, component: int) -> str:
        """The name of a component, given as `depends` gives it."""
        return self.hidden.components[component].name if component >= 0 else "no component"
