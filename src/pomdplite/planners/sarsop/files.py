"""Policies of SARSOP in files: α-vectors, and what they were made for."""

import zipfile
import zlib
from hashlib import sha256
from pathlib import Path

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.sarsop import search as av
from pomdplite.planners.sarsop.search import Problem, Vectors

_FORMAT = "pomdplite sarsop 1"


def save(path: Path, momdp: Momdp, vectors: Vectors, bounds: tuple[float, float]) -> None:
    """Write vectors and bounds to a file that `load` takes."""
    with path.open("wb") as file:
        np.savez_compressed(
            file, format=np.array(_FORMAT), model=np.array(fingerprint(momdp)), value=vectors.value,
            state=momdp.reachable.graph.states[vectors.state], action=vectors.action, bounds=np.array(bounds),
        )  # fmt: skip


def fingerprint(momdp: Momdp) -> str:
    """What a policy must have been made for: sizes, states, numbers and discount."""
    r, joint = momdp.reachable, momdp.joint
    n = r.distinct_count
    numbers = sha256()
    for a in (r.graph.states, r.graph.first, r.graph.action, r.graph.step, r.graph.next, joint.size, joint.stride,
              joint.later, r.distinct.component[:n], r.distinct.branches[:n], r.distinct.outcomes[:n],
              momdp.prior):  # fmt: skip
        numbers.update(np.ascontiguousarray(a).tobytes())
    for row in range(n):
        numbers.update(np.concatenate([a.ravel() for a in r.likelihood(row)]).tobytes())
    model = momdp.view.model
    return f"{r.states} states, {momdp.values} values of θ, discount {model.discount!r}, {numbers.hexdigest()}"


def load(path: Path, momdp: Momdp, problem: Problem) -> tuple[Vectors, tuple[float, float]]:
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
    ours = fingerprint(momdp)
    if model != ours:
        here, there = ours.rpartition(", ")[0], model.rpartition(", ")[0]
        other = f"it has {there}, {momdp.view.model.name} {here}" if here != there else "its numbers are others"
        raise UsageError(f"{path} is the policy of another model: {other}.")
    sizes = (value.ndim, value.shape[1:], words.shape, action.shape, bounds.shape)
    width = momdp.reachable.graph.states.shape[1]
    if sizes != (2, (momdp.values,), (len(value), width), (len(value),), (2,)) or not np.isfinite(value).all():
        raise UsageError(f"{path} is damaged: its α-vectors are not what its model needs.")
    g, counts = av.empty_vectors(problem, len(value)), np.zeros(6, np.int64)
    for row, state, number in zip(value, words, action, strict=True):
        av.add_vector(g, counts, momdp.reachable.find(state), int(number), row)
    if (g.newest[1:] < 0).any():
        raise UsageError(f"{path} is damaged: it has no α-vector for some state.")
    return g, (float(bounds[0]), float(bounds[1]))
