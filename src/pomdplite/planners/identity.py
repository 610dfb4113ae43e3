"""What identifies a model on another machine: its sizes and names, and its numbers along a few random walks.

The digest of compiled code (checking/remembered.py) will not do for that: it changes with the version of Python.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, Words
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.functions import Form
from pomdplite.model.model import Model
from pomdplite.model.spaces import Distributed, Hidden, State
from pomdplite.rng import stream, uniform

_WALKS, _STEPS = 8, 12
_TOLERANCE = 1e-6  # relative: machines round differently


def described(model: Model) -> dict[str, Any]:
    """The model's sizes and names, as JSON has them."""
    hidden = model.hidden
    values: dict[str, Any] = {}
    if isinstance(hidden, Hidden):
        values = {c.name: [list(c.labels), c.prior.tolist()] for c in hidden.components}
    elif isinstance(hidden, (Distributed, Dirichlet)):
        values = {"prior": hidden.identity}
    definition = model.compiled_form.definition
    real = {} if definition.form == Form(model.next_states) else {
        "noise": repr((definition.noise, definition.reading_noise)), "reading": repr(model.reading),
    }  # fmt: skip
    return {
        "actions": list(map(str, model.actions)), "observations": list(map(str, model.observations)),
        "discount": float(model.discount), "horizon": int(model.episode_horizon),
        "fields of the state": str(model.state.dtype.descr), "fields of the hidden value": str(hidden.dtype.descr),
        "hidden values": values, "initial state": model.describe_state(model.initial_state()), **real,
    }  # fmt: skip


def sampled_numbers(model: Model) -> Floats:
    """Rewards and probabilities along random walks, the same ones for equal models."""
    return np.concatenate([np.zeros(0), *(_walk(model, stream(0, walk)) for walk in range(_WALKS))])


def same_numbers(one: Floats, other: Floats) -> bool:
    """Whether these are the numbers of one model, up to rounding."""
    return one.shape == other.shape and np.allclose(one, other, _TOLERANCE, _TOLERANCE)


def _walk(model: Model, random: Words) -> Floats:
    run, x, found = model.compiled_form.interpreted, model.initial_state(), list[float]()
    theta = _hidden_value(model, random)
    for _ in range(_STEPS):
        legal = [a for a in range(len(model.actions)) if run.legal(x, a)]
        if run.terminal(x) or not legal:
            break
        a = legal[int(uniform(random) * len(legal))]
        normals = run.calls["transition"].normals(random)
        branches = [branch for branch in run.transition(x, theta, a, normals) if branch[1] > 0]
        if len(normals):
            found += _numbers(model.state, branches[0][0])
        if "density" in run.calls:
            found.append(run.density(x, theta, a, branches[0][0]))
        found += [float(run.reward(x, theta, a)), *(float(p) for _, p in branches)]
        theta_next = run.evolve(x, theta, a)
        x = branches[int(uniform(random) * len(branches))][0]
        if model.reading is None:
            found += map(float, run.observation(x, theta_next, a))
        else:
            normals = run.calls["observation"].normals(random)
            read = run.reading(x, theta_next, a, normals)
            found += _numbers(model.reading.space, read)
            if "likelihood" in run.calls:
                found.append(run.likelihood(x, theta_next, a, read))
        theta = theta_next
    return np.array(found)


def _numbers(space: State, record: Any) -> list[float]:
    """The numbers in a record."""
    return [float(v) for name in space.dtype.names or () for v in np.ravel(record[name])]


def _hidden_value(model: Model, random: Words) -> Any:
    if isinstance(model.hidden, Hidden):
        return model.hidden.record([int(uniform(random) * len(c)) for c in model.hidden.components])
    return model.compiled_form.draw_hidden(random)
