"""Checks of a model's hints, along random walks, because what hints remember depends on the history."""

from typing import Any

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.model.functions import FUNCTIONS, Kind, ModelFunction, Returns, Section
from pomdplite.model.records import empty_record
from pomdplite.rng import uniform

_STEPS = 40  # of a walk
_UNIFORMS = (0.0, 0.3, 0.6, 0.999)  # random numbers that a policy is tried with


def check_hints(probe: Probe, walks: int) -> None:
    """Walk at random so many times, and ask for every hint on the way."""
    hints = [f for f in FUNCTIONS if f.section is Section.HINT and f.name in probe.interpreted.calls]
    updates = [f for f in hints if Kind.UPDATED_MEMORY in f.arguments.values()]
    for _ in range(walks if hints else 0):
        x, theta = probe.model.initial_state(), probe.draw_hidden()
        memory = empty_record(probe.interpreted.definition.memory)
        for _ in range(_STEPS):
            if probe.interpreted.terminal(x):
                break
            legal = [a for a in range(len(probe.model.actions)) if probe.interpreted.legal(x, a)]
            for hint in hints:
                if hint not in updates:
                    _check_hint(probe, hint, x, theta, memory, legal)
            a = legal[int(uniform(probe.random) * len(legal))]
            y, later, o = _draw_step(probe, x, theta, a)
            for update in updates:
                given = {"x": x, "a": a, "y": y, "o": o, "h": memory}
                if _ask(probe, update, given, probe.place(x, a=a)) is None:
                    return
            x, theta = y, later


def _check_hint(probe: Probe, hint: ModelFunction, x: Any, theta: Any, memory: Any, legal: list[int]) -> None:
    """One hint in one state: an action must be legal."""
    where, names = probe.place(x), probe.model.actions
    for u in _UNIFORMS if Kind.UNIFORM in hint.arguments.values() else (0.0,):
        found = _ask(probe, hint, {"x": x, "theta": theta, "h": memory, "u": u}, where)
        if found is None:
            continue
        if hint.returns is Returns.ACTION and found not in legal:
            probe.report.add(
                hint.name, f"{hint.name} returns {names[found]!r} at {where}, which is not a legal action there."
            )
        if Kind.ACTION_FLAGS in hint.arguments.values():
            for a in (int(a) for a in np.flatnonzero(found) if a not in legal):
                probe.report.add(hint.name, f"{hint.name} names {names[a]!r} at {where}, where it is not legal.")


def _ask(probe: Probe, hint: ModelFunction, given: dict[str, Any], where: str) -> Any:
    """The hint under guard, with the arguments that it takes."""
    names = [name for name in hint.arguments if name in given]
    return probe.call(hint.name, probe.interpreted.calls[hint.name], *(given[name] for name in names), where=where)


def _draw_step(probe: Probe, x: Any, theta: Any, a: int) -> tuple[Any, Any, Any]:
    """A random next state, with its hidden value and observation."""
    calls = probe.interpreted.calls
    branches = probe.interpreted.transition(x, theta, a, calls["transition"].normals(probe.random))
    y = branches[_draw(probe, [p for _, p in branches])][0]
    later = probe.interpreted.evolve(x, theta, a)
    if probe.model.reading is not None:
        return y, later, probe.interpreted.reading(y, later, a, calls["observation"].normals(probe.random))
    return y, later, _draw(probe, probe.interpreted.observation(y, later, a))


def _draw(probe: Probe, probabilities: Any) -> int:
    number = uniform(probe.random) * sum(probabilities)
    return int(np.searchsorted(np.cumsum(probabilities), number, side="right"))
