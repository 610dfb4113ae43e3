"""Calling a model's functions under guard: whatever they raise or overwrite becomes a finding."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from pomdplite.checking.report import CheckReport
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Population
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

    def call(
        self, name: str, function: Callable[..., Any], *arguments: Any, where: str, keep: dict[int, Any] | None = None
    ) -> Any:
        """The result of a function; what it raises, and an argument that it overwrites, become findings.

        None if it raised. `keep` maps the positions of arguments that must not change to their layouts.
        """
        before = {i: to_words(dtype, arguments[i]) for i, dtype in (keep or {}).items()}
        try:
            result = function(*arguments)
        except Exception as error:  # noqa: BLE001  whatever the user's code raises is the finding
            self.report.add(name, f"{name} raised {type(error).__name__} at {where}: {self._explained(error)}")
            return None
        for i, words in before.items():
            dtype = (keep or {})[i]
            if not np.array_equal(words, to_words(dtype, arguments[i])):
                self.report.add("writes", f"{name} changes x or theta at {where}; write to the outputs only.")
                for field in dtype.names or ():
                    arguments[i][field] = words.view(dtype)[0][field]
        return result

    def _explained(self, error: Exception) -> str:
        missing = re.search(r"'Parameters' object has no attribute '(\w+)'", str(error))
        return self.interpreted.definition.left_out.get(missing[1] if missing else "", str(error))

    # ------------------------------------------------------------------ hidden values

    def draw_hidden(self) -> Any:
        """A random hidden value."""
        if not isinstance(self.hidden, Population):
            return self.hidden.record(self.random_values())
        if len(self._draws) < _POOL:
            self._draws.append(self.interpreted.prior(self.random))
        return self._draws[int(uniform(self.random) * len(self._draws))]

    def random_values(self) -> list[int]:
        """The number of a random value of each component."""
        return [int(uniform(self.random) * len(c)) for c in self.hidden.components]

    # ------------------------------------------------------------------ descriptions

    def place(self, x: Any, theta: Any = None, a: int | None = None) -> str:
        """`x = (row=1 col=2), theta: rocks[3]=good, action 'check-3'`."""
        text = f"x = ({self.model.describe_state(x)})"
        if theta is not None:
            text += f", theta: {self.hidden.describe(theta)}"
        return text if a is None else f"{text}, action {self.model.actions[a]!r}"

    def component_name(self, component: int) -> str:
        """The name of a component, given as `depends` gives it."""
        return self.hidden.components[component].name if component >= 0 else "no component"
