"""check_model: run a model's functions as Python on reachable (x, θ, a), and say what is wrong and where.

Everything is interpreted, so an index out of bounds or an exception does no harm; at the end the compiled functions are
compared with the interpreted ones. A function must be defined for every θ at every reachable x, even where the history
rules that θ out: planners evaluate all of them.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from pomdplite.checking.agreement import check_agreement
from pomdplite.checking.hints import check_hints
from pomdplite.checking.probe import Probe
from pomdplite.checking.report import CheckReport
from pomdplite.checking.step import check_dependence, check_step
from pomdplite.errors import ModelError
from pomdplite.model.model import Model
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population

_STATES = 1000  # default limit on states
_CALLS = 20_000  # default limit on (x, θ, a)
_DRAWS = 3  # of a θ that cannot be listed, in one (x, a)
_VALUES = 64  # values of one component, or joint values, in one (x, a)
_SAMPLES = 500  # (x, θ, a) at which compiled and interpreted functions are compared


def check_model(model: Model, *, states: int = _STATES, calls: int = _CALLS, seed: int = 0) -> CheckReport:
    """Check up to that many reachable states and (x, θ, a)."""
    report = CheckReport(model.name)
    try:
        probe = Probe(model, report, seed)
        x = model.initial_state()
    except ModelError as error:
        report.add("definition", str(error))
        return report
    check = _Exploration(probe, states, calls)
    check.explore(x)
    never = [str(name) for o, name in enumerate(model.observations) if o not in check.observed]
    if never and not report.findings and report.complete:
        names = ", ".join(map(repr, never))  # harmless, but hardly intended
        report.add("unused", f"observation {names} has zero likelihood under every theta, everywhere.", fatal=False)
    if report.ok:
        check_hints(probe)
    if report.ok:
        check_agreement(probe, check.samples)
    return report


class _Exploration:
    """Breadth-first search of the reachable states, checking every (x, θ, a) on the way."""

    def __init__(self, probe: Probe, states: int, calls: int) -> None:
        self.probe, self.model, self.report = probe, probe.model, probe.report
        self.most_states, self.most_calls = states, calls
        self.observed: set[int] = set()
        self.samples: list[tuple[Any, Any, int]] = []

    def explore(self, start: Any) -> None:
        first = to_words(self.model.state.dtype, start)
        known, queue = {first.tobytes()}, deque([first])
        while queue:
            if self.report.states >= self.most_states or self.report.calls >= self.most_calls:
                self.report.complete = False
                return
            x = from_words(self.model.state.dtype, queue.popleft())
            where = self.probe.place(x)
            over = self.probe.call("terminal", self.probe.interpreted.terminal, x, where=where)
            if over or over is None:
                continue
            self.report.states += 1
            legal = [a for a in range(len(self.model.actions)) if self.legal(x, a)]
            if not legal:
                self.report.add("no action", f"no action is legal in {where}, which is not terminal.")
            for a in legal:
                for y in self.next_states(x, a):
                    after = to_words(self.model.state.dtype, y)
                    if after.tobytes() not in known:
                        known.add(after.tobytes())
                        queue.append(after)

    def legal(self, x: Any, a: int) -> bool:
        return bool(self.probe.call("legal", self.probe.interpreted.legal, x, a, where=self.probe.place(x, a=a)))

    def next_states(self, x: Any, a: int) -> Iterator[Any]:
        """Check (x, a) under every θ that matters there; give the next states."""
        component = self.component(x, a) if self.probe.factored else -1
        if component is None:
            return
        for values in self.hidden_values(component):
            theta = self.probe.draw_hidden() if values is None else self.probe.hidden.record(values)
            self.report.calls += 1
            step = check_step(self.probe, x, theta, a, component)
            if step is None:
                continue
            self.observed |= {int(o) for z in step.likelihoods for o in np.flatnonzero(z[:-1])}
            if len(self.samples) < _SAMPLES:
                self.samples.append((x, theta, a))
            if self.probe.factored and values is not None:
                check_dependence(self.probe, x, a, component, values, step)
            yield from step.next_states(self.model.state.dtype)

    def component(self, x: Any, a: int) -> int | None:
        """The component that (x, a) depends on; None if there is no such component."""
        where, count = self.probe.place(x, a=a), len(self.probe.hidden.components)
        component = self.probe.call("depends", self.probe.interpreted.depends, x, a, where=where)
        if component is not None and not -1 <= component < count:
            self.report.add(
                "depends",
                f"depends returned {component} at {where}; components are numbered 0 to {count - 1}, and -1 is none.",
            )
            return None
        return component

    def hidden_values(self, component: int) -> Iterator[list[int] | None]:
        """Values of θ to try: each value of the component, the others random; or joint values; None means a draw."""
        parts = self.probe.hidden.components
        if isinstance(self.probe.hidden, Population):
            yield from [None] * _DRAWS
        elif self.probe.factored:
            for value in range(len(parts[component]) if component >= 0 else 1)[:_VALUES]:
                values = self.probe.random_values()
                if component >= 0:
                    values[component] = value
                yield values
        elif self.probe.hidden.size <= _VALUES:
            for joint in np.ndindex(*(len(c) for c in parts)):
                yield [int(i) for i in joint]
        else:
            for _ in range(_VALUES):
                yield self.probe.random_values()
