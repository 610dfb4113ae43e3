"""Compiled and interpreted functions must agree."""

from typing import Any

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.compile import abi
from pomdplite.compile.jit import Words
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import pick, simulate
from pomdplite.model.compiled import KernelView
from pomdplite.model.faults import explained
from pomdplite.model.records import from_words, to_words
from pomdplite.rng import noise_from, uniform

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
    if compiled.noise.numbers > 0 or compiled.z_words > 0:
        return found + _differing_draws(probe, compiled, x, theta, a)
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


def _differing_draws(probe: Probe, compiled: abi.KernelModel, x: Any, theta: Any, a: int) -> list[str]:
    """The same for T with noise and Z with readings: both must make the same of the same random numbers."""
    run, model = probe.interpreted, probe.model
    words, hidden = (to_words(d, r).reshape(1, -1) for d, r in ((model.state.dtype, x), (probe.hidden.dtype, theta)))
    out, random = allocate_outcomes(compiled, 1), (uniform(probe.random), uniform(probe.random))
    i, o, _ = simulate(compiled, words, hidden, a, random[0], random[1], out)
    normals = np.zeros(len(out.noise))
    noise_from(random[0], compiled.noise.numbers, normals)
    branches = run.transition(x, theta, a, normals[: compiled.noise.numbers])
    y = branches[pick(np.array([p for _, p in branches]), len(branches), random[0])][0]
    if not _close(model.state.dtype, out.y[i], y):
        return ["transition"]
    later = run.evolve(x, theta, a)
    if model.reading is None:
        agree = pick(run.observation(y, later, a), len(model.observations) + 1, random[1]) == o
    else:
        noise_from(random[1], compiled.reading.numbers, normals)
        read = run.reading(y, later, a, normals[: compiled.reading.numbers])
        agree = _close(model.reading.dtype, out.y[i, compiled.x_words :], read)
    return [] if agree else ["observation"]


def _close(dtype: np.dtype[Any], words: Words, record: Any) -> bool:
    """Whether these words hold the record, up to rounding."""
    found = from_words(dtype, words)
    return all(np.allclose(found[n], record[n], rtol=_TOLERANCE, atol=_TOLERANCE) for n in dtype.names or ())
