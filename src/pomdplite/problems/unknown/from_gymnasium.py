"""Gymnasium's tabular environments, such as FrozenLake and Taxi, with probabilities that the agent has to learn.

They list their transitions as env.unwrapped.P[s][a] = [(probability, next state, reward, whether it ends), …].
"""

from collections.abc import Mapping
from typing import Any

from pomdplite.errors import UsageError
from pomdplite.model.unknown import UnknownMdp

KNOWN = ("state", "action")


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
    if known not in KNOWN:
        raise UsageError(f"known must be {' or '.join(map(repr, KNOWN))}, not {known!r}.")
    first = int(env.reset(seed=0)[0]) if start is None else start
    outcomes: dict[Any, list[tuple[int, float]]] = {}
    truth: dict[Any, list[float]] = {}
    for s, actions in table.items():
        own = {a: _outcomes(rows, first) for a, rows in actions.items()}
        everything = sorted({outcome for chances in own.values() for outcome in chances})
        for a, chances in own.items():
            outcomes[s, a] = everything if known == "state" else sorted(chances)
            truth[s, a] = [chances.get(outcome, 0.0) for outcome in outcomes[s, a]]
    return UnknownMdp(
        len(table), len(table[0]), {}, discount=discount, outcomes=outcomes, counts=counts, truth=truth, start=first,
        horizon=horizon, beta=beta,
    )  # fmt: skip


def _outcomes(rows: Any, start: int) -> dict[tuple[int, float], float]:
    """The probabilities of next states with rewards; the end of an episode leads to the start."""
    found: dict[tuple[int, float], float] = {}
    for p, after, reward, over in rows:
        if p > 0:
            outcome = start if over else int(after), float(reward)
            found[outcome] = found.get(outcome, 0.0) + float(p)
    return found
