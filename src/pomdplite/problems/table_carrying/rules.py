"""Carry a table through a door with a person who may or may not adapt to the robot (Nikolaidis, Kuznetsov, Hsu and
Srinivasa, "Formalizing human-robot mutual adaptation: a bounded memory model", HRI 2016).

The table fits through the door once it is turned to either side: way A, with the robot facing the door, or way B, with
the person facing it. The robot's camera makes A the better one. In every step both turn, at the same time, and the
table moves only if they turn the same way. The person follows the paper's bounded-memory adaptation model: the way that
an agent turned most often in the last k steps is its mode; where the modes differ, the person takes over the robot's
with probability α, the adaptability, and otherwise stays with their own. In the first step there is no history, and
they turn their preferred way.

α and the preferred way are hidden and constant. The last k steps are seen, so the person's next move is the toss of a
coin whose bias is hidden: a POMDP-lite.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats, inlined
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.table_carrying.drawing import draw_table, paint_table

TO_A, TO_B = 1, -1
ADAPTABILITIES = (0.0, 0.25, 0.5, 0.75, 1.0)


@inlined
def mode(turned: Any) -> int:
    """The way turned most often: TO_A or TO_B, the latest of them if they tie; 0 without a history."""
    total = 0
    for turn in turned:
        total += turn
    if total == 0:
        return turned[0]
    return TO_A if total > 0 else TO_B


class TableCarrying(Model):
    """Turn a table together with a person of unknown preference and adaptability, until it fits through the door.

    turns   joint turns to the same side that it takes
    memory  k, the steps that the person remembers
    better  the reward of way A
    worse   the reward of way B
    """

    actions = ("turn-to-A", "turn-to-B")
    next_states = 2
    discount = 0.95
    horizon = 60

    def __init__(self, turns: int = 4, memory: int = 1, better: float = 20.0, worse: float = 15.0) -> None:
        if turns < 1 or memory < 1:
            raise UsageError(f"table-carrying: turns and memory must be at least 1, not {turns!r} and {memory!r}.")
        self.turns, self.steps_remembered, self.better, self.worse = turns, memory, better, worse
        # rotation: joint turns to A, less those to B. person, robot: their last turns, the latest first; 0 is none.
        self.state = State(rotation=np.int8, person=(np.int8, memory), robot=(np.int8, memory))
        self.hidden = Hidden(adaptability=ADAPTABILITIES, preference=("A", "B"))

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        turn = TO_A if a == 0 else TO_B
        own, robots = mode(x.person), mode(x.robot)
        if own == 0:
            own = robots = TO_A if theta.preference == 0 else TO_B
        p[0] = 1.0 if own == robots else 1.0 - theta.adaptability
        p[1] = 1.0 - p[0]
        for i in range(2):
            turned = own if i == 0 else robots
            for k in range(m.steps_remembered - 1, 0, -1):
                y[i].person[k], y[i].robot[k] = x.person[k - 1], x.robot[k - 1]
            y[i].person[0], y[i].robot[0] = turned, turn
            if turned == turn:
                y[i].rotation += turn

    def reward(m: Any, x: Any, theta: Any, a: int, y: Any) -> float:
        if y.rotation == m.turns:
            return m.better
        return m.worse if y.rotation == -m.turns else 0.0

    def terminal(m: Any, x: Any) -> bool:
        return abs(x.rotation) == m.turns

    def success(self, x: Any, theta: Any) -> bool:
        """The table went through the door the better way, A."""
        return bool(x.rotation == self.turns)

    def constants(self) -> dict[str, str]:
        """Describe the task's numbers for reports."""
        return {
            "rewards": f"{self.better:g} for A, {self.worse:g} for B, after {self.turns} joint turns",
            "steps that the person remembers": f"{self.steps_remembered}",
        }

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_table(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_table(self, axes, x, marginals)
