"""Doorman, after Fern, Natarajan, Judah and Tadepalli: open doors for somebody without knowing where they want to go.

Every cell of a grid has a door to each neighbour. Only one door is open at a time, and it shuts behind whoever passes.
A person walks from the middle to the resource they want and picks it up: to move, they open a door in one action and
pass it in the next. The assistant opens a door of the cell that they are in, or waits. In each step the assistant acts,
and then the person; the person begins.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.assistance.doorman_drawing import draw_doors, paint_doors
from pomdplite.problems.assistance.rationality import (
    ILLEGAL,
    checked_rationality,
    expected_steps,
    steps_to_go,
    to_probabilities,
)

WAIT = 0  # as an action, and as the door that is open; direction d is d + 1 in both
DIRECTIONS = {"north": (0, -1), "south": (0, 1), "east": (1, 0), "west": (-1, 0)}  # columns and rows
PICK_UP = 4  # the person's action after four directions, in which they pass the door if it is open, or open it
RESOURCES = {
    "wood": (0, 0), "food": (3, 0), "gold": (6, 0), "iron": (6, 3), "stone": (6, 6), "clay": (3, 6), "wool": (0, 6),
    "salt": (0, 3),
}  # fmt: skip
BLOCKED = ((1, 1), (5, 1), (2, 4), (4, 5), (5, 4))


class Doorman(Model):
    """Open doors for a person whose goal is hidden, at a cost of 1 for every action that they have to take.

    resources    the cell of each resource, as (column, row) from the north-west; all are equally probable goals
    size         columns and rows of the grid; the person starts in the middle
    blocked      cells that nobody enters
    rationality  of the person: 0 for any action at random, infinity for the shortest ways only
    assistant    False if there is none: it can only wait
    beta         weight of exploration; by default the library chooses it
    """

    state = State(cell=np.int16, door=("shut", *DIRECTIONS), begun=bool, done=bool)
    actions = ("wait", *(f"open-{direction}" for direction in DIRECTIONS))
    next_states = 5
    return_range = 1.0

    def __init__(
        self,
        resources: Mapping[str, tuple[int, int]] = RESOURCES,
        size: int = 7,
        blocked: Sequence[tuple[int, int]] = BLOCKED,
        rationality: float = 1.5,
        assistant: bool = True,
        discount: float = 1.0,
        beta: float | None = None,
    ) -> None:
        if not resources or not 2 <= size <= 30:
            raise UsageError("Doorman: there must be a resource, and the grid must have 2 to 30 columns.")
        free = {(c, r) for c in range(size) for r in range(size)} - set(blocked)
        middle = (size // 2, size // 2)
        for what, place in [*resources.items(), ("the start", middle)]:
            if place not in free:
                raise UsageError(
                    f"Doorman: {what} is at {place}, which is blocked or outside the {size} × {size} grid."
                )
        self.size, self.resources, self.blocked = size, dict(resources), tuple(blocked)
        self.rationality, self.discount, self.assistant = checked_rationality(rationality), discount, bool(assistant)
        self.beta = beta
        self.neighbour = np.full((size * size, len(DIRECTIONS)), ILLEGAL)  # [cell, direction]
        for column, row in free:
            for d, (right, down) in enumerate(DIRECTIONS.values()):
                if (column + right, row + down) in free:
                    self.neighbour[row * size + column, d] = (row + down) * size + column + right
        self.begin = middle[1] * size + middle[0]
        self.goal = np.array([row * size + column for column, row in resources.values()])
        found = [self._plan(int(goal)) for goal in self.goal]
        self.to_go = np.array([steps for steps, _ in found])  # [resource, cell, door] fewest actions to have it
        self.alone = np.array([expected for _, expected in found])
        if not np.isfinite(self.alone).all():
            raise UsageError("Doorman: there is no way to " + list(resources)[int(np.argmax(self.alone))] + ".")
        self.hidden = Hidden(resource=tuple(resources))

    def _plan(self, goal: int) -> tuple[Any, float]:
        """The fewest actions of a person who works alone, and how many they take on average from the middle."""
        cell, door = (axis.ravel() for axis in np.indices((self.size**2, 5)))
        after = np.full((len(cell) + 1, PICK_UP + 1), ILLEGAL)  # the last state: they have it
        for d in range(PICK_UP):
            to = self.neighbour[cell, d]
            after[:-1, d] = np.where(to == ILLEGAL, ILLEGAL, np.where(door == d + 1, 5 * to, 5 * cell + d + 1))
        after[:-1, PICK_UP] = np.where(cell == goal, len(cell), ILLEGAL)
        steps = steps_to_go(after, np.arange(len(after)) == len(cell))
        return steps[:-1].reshape(-1, 5), expected_steps(after, steps, self.rationality, 5 * self.begin)

    def start(self, x: Any) -> None:
        x.cell = self.begin

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        door = x.door if a == WAIT else a
        for c in range(PICK_UP):
            y[c].begun, p[c] = True, -1.0
            if m.neighbour[x.cell, c] >= 0:
                y[c].door = c + 1
                if door == c + 1:
                    y[c].cell, y[c].door = m.neighbour[x.cell, c], WAIT
                p[c] = m.to_go[theta.resource, y[c].cell, y[c].door]
        y[PICK_UP].done = True
        p[PICK_UP] = 0.0 if x.cell == m.goal[theta.resource] else -1.0
        to_probabilities(p, m.rationality)

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return -1.0

    def legal(m: Any, x: Any, a: int) -> bool:
        if a == WAIT or not x.begun or not m.assistant:
            return a == WAIT
        return x.door != a and m.neighbour[x.cell, a - 1] >= 0

    def terminal(m: Any, x: Any) -> bool:
        return x.done

    def success(self, x: Any, theta: Any) -> bool:
        """The person has what they want."""
        return bool(x.done)

    def policy(m: Any, x: Any, u: float) -> int:
        return WAIT

    def constants(self) -> dict[str, str]:
        """How this grid is configured, for reports."""
        return {
            "grid": f"{self.size} × {self.size} cells, {len(self.blocked)} of them blocked",
            "resources": ", ".join(self.resources),
            "rationality of the person": f"{self.rationality:g}",
            "steps of the person without help": f"{self.alone.mean():.1f} on average",
        }

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_doors(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_doors(self, axes, x, marginals)
