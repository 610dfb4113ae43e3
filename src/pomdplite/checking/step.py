"""Checks of T, Z, R and φ at one (x, θ, a)."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.compile.jit import Words
from pomdplite.model.records import from_words, to_words

_SUM_TOLERANCE = 1e-6


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
    """Check the four functions at (x, θ, a); return what they gave, or None if it cannot be used."""
    run, where = probe.interpreted, probe.place(x, theta, a)
    keep = {0: probe.model.state.dtype, 1: probe.hidden.dtype}
    reward = probe.call("reward", run.reward, x, theta, a, where=where, keep=keep)
    branches = probe.call("transition", run.transition, x, theta, a, where=where, keep=keep)
    later = probe.call("evolve", run.evolve, x, theta, a, where=where, keep=keep)
    if reward is None or branches is None or later is None:
        return None
    if not np.isfinite(reward):
        probe.report.add("reward", f"reward is {reward} at {where}.")
    elif reward != run.reward(x, theta, a):
        probe.report.add("reproducible", f"reward returns different numbers for the same arguments at {where}.")
    _check_hidden_change(probe, x, theta, a, later, component)
    usable = _check_distribution(probe, "transition", np.array([p for _, p in branches]), where)
    words = [to_words(probe.model.state.dtype, y) for y, p in branches if p != 0]
    _check_reproducible(probe, x, theta, a, branches, words)
    likelihoods = []
    for y, p in branches:
        if p == 0:
            continue
        z = probe.call("observation", run.observation, y, later, a, where=where, keep=keep)
        if z is None:
            return None
        usable = _check_distribution(probe, "observation", z, where) and usable
        if not np.array_equal(z, run.observation(y, later, a)):
            probe.report.add("reproducible", f"observation gives different numbers for the same arguments at {where}.")
        likelihoods.append(z)
    return CheckedStep(reward, branches, words, likelihoods) if usable else None


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
    again = [to_words(hidden.dtype, probe.interpreted.evolve(x, theta, a)) for _ in range(3)]
    if not all(np.array_equal(once, words) for words in again):
        probe.report.add(
            "random change",
            f"not a POMDP-lite: evolve gives different hidden values for the same arguments at {where}, so the "
            "hidden variable changes at random. In a POMDP-lite it is constant or changes as a function of theta, x "
            "and a; move what changes at random into the observed state.",
        )
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
        likelihoods = [run.observation(y, later, a) for y, p in branches if p != 0]
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


def _check_distribution(probe: Probe, name: str, p: Any, where: str) -> bool:
    """Whether p is a probability distribution; if not, that is a finding."""
    if not np.all(np.isfinite(p)):
        probe.report.add(f"{name} number", f"{name} gives the probability {p[~np.isfinite(p)][0]} at {where}.")
    elif np.any(p < 0):
        probe.report.add(f"{name} sign", f"{name} gives the negative probability {p.min():g} at {where}.")
    elif abs(p.sum() - 1) > _SUM_TOLERANCE:
        probe.report.add(f"{name} sum", f"{name} gives probabilities that sum to {p.sum():.9g}, not 1, at {where}.")
    else:
        return True
    return False
