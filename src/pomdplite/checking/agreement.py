"""Compiled and interpreted functions must agree."""

from typing import Any

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.compile import abi
from pomdplite.model.compiled import KernelView
from pomdplite.model.faults import explained
from pomdplite.model.records import to_words

_TOLERANCE = 1e-9


def check_agreement(probe: Probe, view: KernelView, samples: list[tuple[Any, Any, int]]) -> None:
    """Compare the compiled functions with the interpreted ones at every sampled (x, θ, a)."""
    for x, theta, a in samples:
        where = probe.place(x, theta, a)
        try:
            found = _differing(probe, view.kernel_model, x, theta, a)
        except Exception as error:  # noqa: BLE001  whatever the user's code raises is the finding
            message = explained(probe.model.compiled_form, error)
            probe.report.add(
                "compiled",
                f"a function raises {type(error).__name__} as Python, but none compiled, at {where}: {message}",
            )
            return
        for name in found:
            probe.report.add("compiled", f"{name} differs between interpreted and compiled at {where}.")


def _differing(probe: Probe, compiled: abi.KernelModel, x: Any, theta: Any, a: int) -> list[str]:
    """The functions that disagree at (x, θ, a), with their values where these are numbers."""
    run, state = probe.interpreted, probe.model.state.dtype
    words = to_words(state, x).reshape(1, -1)
    hidden = to_words(probe.hidden.dtype, theta).reshape(1, -1)
    found = []
    expected, reward = run.reward(x, theta, a), abi.reward(compiled, words, 0, hidden, 0, a)
    if not abs(reward - expected) <= _TOLERANCE * max(1.0, abs(expected)):
        found.append(f"reward ({expected} and {reward})")
    if abi.legal(compiled, words, 0, a) != run.legal(x, a):
        found.append("legal")
    if abi.terminal(compiled, words, 0) != run.terminal(x):
        found.append("terminal")
    later = run.evolve(x, theta, a)
    after = to_words(probe.hidden.dtype, later).reshape(1, -1)
    if compiled.evolves:
        moved = after.copy()
        abi.evolve(compiled, words, 0, hidden, 0, a, moved)
        if not np.array_equal(moved, after):
            found.append("evolve")
    y, p = np.zeros((compiled.next_states, compiled.x_words), np.uint64), np.zeros(compiled.next_states)
    abi.transition(compiled, words, 0, hidden, 0, a, y, p)
    z = np.zeros(compiled.observations + 1)
    for i, (record, probability) in enumerate(run.transition(x, theta, a)):
        same = probability == 0 or np.array_equal(y[i], to_words(state, record))
        if abs(p[i] - probability) > _TOLERANCE or not same:
            return [*found, "transition"]
        if probability > 0:
            abi.observation(compiled, y, i, after, 0, a, z, 0)
            if not np.allclose(z, run.observation(record, later, a), rtol=0, atol=_TOLERANCE):
                return [*found, "observation"]
    return found
