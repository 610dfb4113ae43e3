"""One-shot Tiger (Kaelbling, Littman, Cassandra 1998, made one-shot in the POMDP-lite paper, Section I)."""

from typing import Any

from pomdplite.layout import Hidden, State
from pomdplite.model import Model

LISTEN, OPEN_LEFT, OPEN_RIGHT = range(3)
CLOSED = 0


class Tiger(Model):
    """Open the door without the tiger; listening costs 1 and is right 85 % of the time; opening ends the game."""

    state = State(opened=("none", "left", "right"))
    hidden = Hidden(tiger=("left", "right"))
    actions = ("listen", "open-left", "open-right")
    observations = ("hear-left", "hear-right")
    discount = 0.95
    beta = 30.0  # listens until one side is 3 ahead, as the Bayes-optimal policy does

    def __init__(self, accuracy: float = 0.85, discount: float = 0.95) -> None:
        self.accuracy = accuracy
        self.discount = discount

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        y.opened = a

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if a == LISTEN:
            z[theta.tiger] = m.accuracy
            z[1 - theta.tiger] = 1.0 - m.accuracy

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        if a == LISTEN:
            return -1.0
        return -100.0 if a - OPEN_LEFT == theta.tiger else 10.0

    def terminal(m: Any, x: Any) -> bool:
        return x.opened != CLOSED
