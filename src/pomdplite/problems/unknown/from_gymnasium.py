"""Gymnasium's tabular environments with probabilities that the agent has to learn: any with a table env.unwrapped.P.

FrozenLake and Taxi are problems of their own, frozen_lake.py and taxi.py, and need no Gymnasium.
"""

from collections.abc import Mapping
from typing import Any

from pomdplite.errors import UsageError
from pomdplite.model.unknown import UnknownMdp
from pomdplite.problems.unknown.transition_tables import to_learn


def unknown_from_gymnasium(
    env: Any, *, known: str = "state", counts: float = 1.0, start: int | None = None, horizon: int = 1000,
    discount: float = 0.99, beta: float | None = None,
) -> UnknownMdp:  # fmt: skip
    """An MDP to be learned from a Gymnasium environment with a table P, whose probabilities are the real ones.

    Where an episode of the environment ends, a new one begins at `start`, with what has been learned; `horizon` steps
    are played in all.

    known   what the agent knows to be possible: "state", every (next state, reward) that some action has in the same
            state, so it must learn what its actions do; "action", those of the action itself
    counts  of the prior, for each of them
    start   the initial state; by default the one of env.reset(seed=0)
    """
    table = getattr(getattr(env, "unwrapped", env), "P", None)
    if not isinstance(table, Mapping) or not table:
        raise UsageError("the environment has no table P of its transitions; FrozenLake and Taxi have one.")
    first = int(env.reset(seed=0)[0]) if start is None else start
    given = to_learn(table, first, known)
    return UnknownMdp(
        len(table), len(table[0]), {}, discount=discount, outcomes=given.outcomes, counts=counts, truth=given.truth,
        start=first, horizon=horizon, beta=beta,
    )  # fmt: skip
