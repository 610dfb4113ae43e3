"""The history that particles have to explain: its steps as they are added, and its probability under each particle."""

from typing import Any

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.mdp.sampling import History, history_log_probability
from pomdplite.model.compiled import KernelView


def empty_history(view: KernelView, room: int | None = None) -> History:
    """A history without steps, with room for this many, by default for an episode."""
    room, x_words = room or view.model.episode_horizon, view.kernel_model.x_words
    seen_words = x_words + view.kernel_model.z_words
    return History(
        x=np.zeros((room, x_words), np.uint64), a=np.zeros(room, np.int64),
        y=np.zeros((room, seen_words), np.uint64), o=np.zeros(room, np.int64), steps=0, forgotten=0,
    )  # fmt: skip


def extended(history: History, x: Words, a: int, y: Words, o: int) -> History:
    """The history with one more step. The shorter one stays valid, but only one of the two can be extended further."""
    if history.steps == len(history.a):  # a world may outlast the model's episodes
        x_rows, a_rows, y_rows, o_rows = (_doubled(rows) for rows in (history.x, history.a, history.y, history.o))
        history = history._replace(x=x_rows, a=a_rows, y=y_rows, o=o_rows)
    history.x[history.steps], history.y[history.steps] = x, y
    history.a[history.steps], history.o[history.steps] = a, o
    return history._replace(steps=history.steps + 1)


def last_step(history: History) -> History:
    """The last step of a history, as a history."""
    last = slice(history.steps - 1, history.steps)
    return history._replace(
        x=history.x[last], a=history.a[last], y=history.y[last], o=history.o[last], steps=1, forgotten=0
    )


def last_evidence(history: History) -> History:
    """The whole history, of which the last step alone counts as evidence: for an initial θ that changes on the way."""
    return history._replace(forgotten=history.steps - 1)


def _doubled(rows: Any) -> Any:
    """The array with as many empty rows again."""
    return np.concatenate([rows, np.zeros_like(rows)])


@kernel
def weigh_history(model: KernelModel, history: History, theta: Words, logs: Floats, out: Outcomes) -> None:
    """The log probability of the history under each particle."""
    for t in range(logs.shape[0]):
        logs[t] = history_log_probability(model, history, theta, t, out)
