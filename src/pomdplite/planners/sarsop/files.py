"""Policies of SARSOP in files: α-vectors, and what they were made for."""

import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.mdp.momdp import Mixed
from pomdplite.planners.sarsop import search as av
from pomdplite.planners.sarsop.search import Problem, Vectors

_FORMAT = "pomdplite sarsop 1"


def save(path: Path, mixed: Mixed, vectors: Vectors, bounds: tuple[float, float]) -> None:
    """Write vectors and bounds to a file that `load` takes."""
    with path.open("wb") as file:
        np.savez_compressed(
            file, format=np.array(_FORMAT), model=np.array(fingerprint(mixed)), value=vectors.value,
            state=mixed.reachable.graph.states[vectors.state], action=vectors.action, bounds=np.array(bounds),
        )  # fmt: skip


def fingerprint(mixed: Mixed) -> str:
    """What a policy must have been made for: sizes, states, numbers and discount."""
    r, joint = mixed.reachable, mixed.joint
    n = r.row_count
    numbers = sha256()
    for a in (r.graph.states, r.graph.first, r.graph.action, r.graph.row, r.graph.next, joint.size, joint.stride,
              joint.later, r.rows.component[:n], r.rows.branches[:n], r.rows.outcomes[:n], mixed.prior):  # fmt: skip
        numbers.update(np.ascontiguousarray(a).tobytes())
    for row in range(n):
        numbers.update(np.concatenate([a.ravel() for a in r.likelihood(row)]).tobytes())
    model = mixed.view.model
    return f"{r.states} states, {mixed.values} values of θ, discount {model.discount!r}, {numbers.hexdigest()}"


def load(path: Path, mixed: Mixed, problem: Problem) -> tuple[Vectors, tuple[float, float]]:
    """The vectors and bounds of a file; UsageError if it is missing, damaged or made for another model."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            made, model = str(file["format"]), str(file["model"])
            value, words, action, bounds = (file[name] for name in ("value", "state", "action", "bounds"))
    except FileNotFoundError:
        raise UsageError(f"there is no policy file {path}.") from None
    except (OSError, TypeError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error):
        raise UsageError(f"{path} is no policy file of SARSOP, or it is damaged.") from None
    if made != _FORMAT:
        raise UsageError(f"{path} is a policy file of another version: {made!r}, not {_FORMAT!r}.")
    ours = fingerprint(mixed)
    if model != ours:
        here, there = ours.rpartition(", ")[0], model.rpartition(", ")[0]
        other = f"it has {there}, {mixed.view.model.name} {here}" if here != there else "its numbers are others"
        raise UsageError(f"{path} is the policy of another model: {other}.")
    sizes = (value.ndim, value.shape[1:], words.shape, action.shape, bounds.shape)
    width = mixed.reachable.graph.states.shape[1]
    if sizes != (2, (mixed.values,), (len(value), width), (len(value),), (2,)) or not np.isfinite(value).all():
        raise UsageError(f"{path} is damaged: its α-vectors are not what its model needs.")
    g, counts = av.empty_vectors(problem, len(value)), np.zeros(6, np.int64)
    for row, state, number in zip(value, words, action, strict=True):
        av.add_vector(g, counts, mixed.reachable.find(state), int(number), row)
    if (g.newest[1:] < 0).any():
        raise UsageError(f"{path} is damaged: it has no α-vector for some state.")
    return g, (float(bounds[0]), float(bounds[1]))
