"""Tiger (Kaelbling, Littman and Cassandra 1998), in the one-shot form of the POMDP-lite paper, Section I."""

from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State

LISTEN, OPEN_LEFT, OPEN_RIGHT = range(3)
CLOSED = 0


class Tiger(Model):
    """Open the door without the tiger. Listening costs 1 and is right 85 % of the time; opening ends the episode."""

    state = State(opened=("none", "left", "right"))
    hidden = Hidden(tiger=("left", "right"))
    actions = ("listen", "open-left", "open-right")
    observations = ("hear-left", "hear-right")
    discount = 0.95
    beta = 30.0  # POMDP-lite listens until one side leads by 3, as the Bayes-optimal policy does

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

    def heuristic(m: Any, x: Any) -> float:
        return 0.0 if x.opened != CLOSED else -20.0  # listening forever

    def policy(m: Any, x: Any, u: float) -> int:
        return LISTEN

    def success(self, x: Any, theta: Any) -> bool:
        """The opened door had no tiger behind it."""
        return bool(x.opened != CLOSED and x.opened - 1 != theta.tiger)

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw two doors with the probability of the tiger behind each."""
        left, right = (f"{100 * p:5.1f} %" for p in marginals[0])
        mark = ["open" if x.opened == side else "shut" for side in (1, 2)]
        return "\n".join([
            "┌─────────┐  ┌─────────┐",
            f"│  {mark[0]}   │  │  {mark[1]}   │",
            f"│ {left} │  │ {right} │   probability of the tiger",
            "└─────────┘  └─────────┘",
        ])  # fmt: skip

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint two doors, red where the tiger is likely."""
        from matplotlib import colormaps
        from matplotlib.patches import Rectangle

        for side, p in enumerate(marginals[0]):
            color = colormaps["RdYlGn_r"](float(p))
            axes.add_patch(Rectangle((side * 1.2, 0), 1, 2, facecolor=color, edgecolor="black", lw=2))
            opened = " (open)" if x.opened == side + 1 else ""
            axes.text(side * 1.2 + 0.5, 1, f"{('left', 'right')[side]}{opened}\ntiger {100 * p:.1f} %",
                      ha="center", va="center", fontsize=12, color="black" if 0.1 < p < 0.9 else "white")  # fmt: skip
        axes.set(xlim=(-0.2, 2.4), ylim=(-0.2, 2.2), aspect="equal")
        axes.axis("off")
