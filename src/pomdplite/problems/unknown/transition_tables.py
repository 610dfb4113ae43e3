"""Tables of transitions in Gymnasium's form, as problems in which they are to be learned.

    table[s][a] = [(probability, next state, reward, whether an episode ends), …]

Where an episode of the table ends, the next one begins, with what has been learned.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pomdplite.errors import UsageError

Table = Mapping[int, Mapping[int, Sequence[tuple[float, int, float, bool]]]]
Outcome = tuple[int, float]  # next state, reward

KNOWN = ("state", "action")


class ToLearn(NamedTuple):
    """What UnknownMdp needs of a table."""

    outcomes: dict[tuple[int, int], list[Outcome]]
    truth: dict[tuple[int, int], list[float]]


def to_learn(table: Table, start: int, known: str) -> ToLearn:
    """The outcomes that the agent knows to be possible, and their real probabilities.

    start  the state in which the next episode begins
    known  "state": every outcome that some action has in the same state, so that the agent must learn what its actions
           do; "action": those of the action itself
    """
    if known not in KNOWN:
        raise UsageError(f"known must be {' or '.join(map(repr, KNOWN))}, not {known!r}.")
    found = ToLearn({}, {})
    for s, actions in table.items():
        own = {a: _chances(rows, start) for a, rows in actions.items()}
        everything = sorted({outcome for chances in own.values() for outcome in chances})
        for a, chances in own.items():
            outcomes = found.outcomes[s, a] = everything if known == "state" else sorted(chances)
            found.truth[s, a] = [chances.get(outcome, 0.0) for outcome in outcomes]
    return found


def _chances(rows: Sequence[tuple[float, int, float, bool]], start: int) -> dict[Outcome, float]:
    """The probabilities of the outcomes of a state-action."""
    found: dict[Outcome, float] = {}
    for p, after, reward, over in rows:
        if p > 0:
            outcome = start if over else int(after), float(reward)
            found[outcome] = found.get(outcome, 0.0) + float(p)
    return found
