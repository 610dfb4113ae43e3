"""Explains a fault: runs T, Z, R and φ as Python at one (x, θ, a), and describes what they do wrong."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.compile.faults import FaultKind
from pomdplite.compile.jit import Words
from pomdplite.model.faults import Fault
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population

_REPEATS = 20  # of evolve: a fair coin that decides between two values stays hidden once in a million times

_REDRAWN = 64  # hidden values that are tried to show that a component matters


@dataclass(frozen=True)
class CheckedStep:
    """What T, Z, R and φ gave at one (x, θ, a)."""

    reward: float
    branches: list[tuple[Any, float]]  # every next state as given, with its probability
    words: list[Words]  # the next states of positive probability
    likelihoods: list[Any]  # P(o | y, θ', a) for each of them

    @property
    def probabilities(self) -> list[float]:
        """The probabilities as given."""
        return [p for _, p in self.branches]

    def next_states(self, dtype: np.dtype[Any]) -> list[Any]:
        """The next states of positive probability, as records."""
        return [from_words(dtype, words) for words in self.words]


def check_step(probe: Probe, x: Any, theta: Any, a: int, component: int) -> CheckedStep | None:
    """Check the four functions at (x, θ, a); return what they gave, or None if one of them raised."""
    run, where = probe.interpreted, probe.place(x, theta, a)
    reward = probe.call("reward", run.reward, x, theta, a, where=where)
    branches = probe.call("transition", run.transition, x, theta, a, where=where)
    later = probe.call("evolve", run.evolve, x, theta, a, where=where)
    if reward is None or branches is None or later is None:
        return None
    if reward != run.reward(x, theta, a):
        probe.report.add("reproducible", f"reward returns different numbers for the same arguments at {where}.")
    _check_hidden_change(probe, x, theta, a, later, component)
    words = [to_words(probe.model.state.dtype, y) for y, p in branches if p != 0]
    _check_reproducible(probe, x, theta, a, branches, words)
    likelihoods = []
    for y, p in branches:
        if p == 0:
            continue
        z = probe.call("observation", probe.seen, y, later, a, where=where)
        if z is None:
            return None
        if not np.array_equal(z, probe.seen(y, later, a)):
            probe.report.add("reproducible", f"observation gives different numbers for the same arguments at {where}.")
        likelihoods.append(z)
    return CheckedStep(reward, branches, words, likelihoods)


def explain_fault(probe: Probe, fault: Fault, raised: BaseException | None) -> None:
    """Make a finding of a fault that the walk met, in the terms of what the functions do as Python."""
    given, before = fault.arguments, [f.times for f in probe.report.findings]
    if fault.kind in (FaultKind.DIFFERS, FaultKind.DOMAIN):
        x, theta, a = given["x"], given["theta"], int(given["a"])
        component = probe.interpreted.depends(x, a) if probe.factored else -1
        step = check_step(probe, x, theta, a, component)
        if step is not None and probe.factored:
            values = [i or 0 for i in probe.hidden.indices(theta)]
            for _ in range(_REDRAWN):
                if [f.times for f in probe.report.findings] == before:
                    check_dependence(probe, x, a, component, values, step)
    if [f.times for f in probe.report.findings] == before:
        kind = fault.function.name if fault.kind is not FaultKind.NO_ACTION else "no action"
        probe.report.add(f"{kind} {fault.kind.name}", fault.text(raised))


def _check_reproducible(
    probe: Probe, x: Any, theta: Any, a: int, branches: list[tuple[Any, float]], words: list[Words]
) -> None:
    """T is a function: a second call gives the same."""
    again = probe.interpreted.transition(x, theta, a)
    states = [to_words(probe.model.state.dtype, y) for y, p in again if p != 0]
    if [p for _, p in again] == [p for _, p in branches] and all(map(np.array_equal, words, states)):
        return
    probe.report.add(
        "reproducible",
        f"transition gives different next states for the same arguments at {probe.place(x, theta, a)}: first "
        f"{_listed(probe, branches)}, then {_listed(probe, again)}; give all next states with their probabilities.",
    )


def _listed(probe: Probe, branches: list[tuple[Any, float]]) -> str:
    return ", ".join(f"({probe.model.describe_state(y)}) with probability {p:g}" for y, p in branches if p != 0)


def _check_hidden_change(probe: Probe, x: Any, theta: Any, a: int, later: Any, component: int) -> None:
    """φ is a function, stays within Θ, and changes the declared component only."""
    if not probe.model.compiled_form.evolves:
        return
    hidden, where = probe.hidden, probe.place(x, theta, a)
    once = to_words(hidden.dtype, later)
    again = [to_words(hidden.dtype, probe.interpreted.evolve(x, theta, a)) for _ in range(_REPEATS)]
    if not all(np.array_equal(once, words) for words in again):
        probe.report.add(
            "random change",
            f"not a POMDP-lite: evolve gives different hidden values for the same arguments at {where}, so the "
            "hidden variable changes at random. In a POMDP-lite it is constant or changes as a function of theta, x "
            "and a; move what changes at random into the observed state.",
        )
        return
    if isinstance(hidden, Population):
        return
    for c, (value, after) in enumerate(zip(hidden.indices(theta), hidden.indices(later), strict=True)):
        name = hidden.components[c].name
        if after is None:
            fields = {n: np.asarray(later[n]).tolist() for n in hidden.dtype.names or ()}
            probe.report.add("domain", f"evolve leaves the domain of {name} at {where}: theta becomes {fields}.")
        elif probe.factored and c != component and after != value:
            declared = probe.component_name(component)
            probe.report.add("dependence", f"evolve changes {name} at {where}, but depends returns {declared}.")


def check_dependence(probe: Probe, x: Any, a: int, component: int, values: list[int], step: CheckedStep) -> None:
    """The declared component is the only one that matters: with others drawn anew, `step` stays the same."""
    other = probe.random_values()
    if component >= 0:
        other[component] = values[component]
    theta = probe.hidden.record(other)
    run = probe.interpreted
    try:
        reward, branches, later = (f(x, theta, a) for f in (run.reward, run.transition, run.evolve))
        likelihoods = [probe.seen(y, later, a) for y, p in branches if p != 0]
    except Exception as error:  # noqa: BLE001  whatever the user's code raises is the finding
        where = probe.place(x, theta, a)
        probe.report.add("raises", f"a function raised {type(error).__name__} at {where}: {error}")
        return
    words = [to_words(probe.model.state.dtype, y) for y, p in branches if p != 0]
    same_next = [p for _, p in branches] == step.probabilities and all(map(np.array_equal, words, step.words))
    describe = probe.hidden.describe
    pair = f"theta: {describe(probe.hidden.record(values))} and theta: {describe(theta)}"
    declared = f"depends returns {probe.component_name(component)} at {probe.place(x, a=a)}, but"
    if reward != step.reward:
        probe.report.add("dependence", f"{declared} reward is {step.reward:g} and {reward:g} for {pair}.")
    if not same_next:
        probe.report.add("dependence", f"{declared} transition differs between {pair}.")
    elif not all(map(np.array_equal, likelihoods, step.likelihoods)):
        probe.report.add("dependence", f"{declared} observation differs between {pair}.")
