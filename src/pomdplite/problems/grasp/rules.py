"""Grasping a cup in a shelf by touch (the POMDP-lite paper, Section VI).

The paper gives the rewards, the step length, the actions, the number of observations and the three regions. Geometry,
prior, noise, discount and horizon are our choices: see docs/robot.md.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.grasp.drawing import draw_shelf, paint_shelf
from pomdplite.problems.grasp.geometry import Geometry, lattice, lattice_place, tables
from pomdplite.problems.grasp.symbols import (
    BACK,
    CLOSE,
    FORWARD,
    FREE,
    HAND_CLOSED,
    HAND_MISSED,
    HAND_OPEN,
    HAND_PICKED,
    LEFT,
    MISSED,
    NONE,
    OPEN,
    PICK,
    PICKED,
    RIGHT,
    TOUCH_BOTH,
)


class Grasp(Model):
    """Feel for a cup in a shelf with an open gripper, close on it and pick it: +100, or −100 if the pick misses.

    A move is one step along x or y and stops where the gripper meets the cup. It costs 1 with the cup between the
    fingers, 2 with the cup ahead of the opening and 5 elsewhere; opening and closing cost 10. Sensors on the inner
    faces of the fingers feel the cup.
    """

    state = State(
        side=float, depth=float, hand=("open", "closed", "picked", "missed"), stopped=("no", "+x", "-x", "+y", "-y")
    )
    actions = ("+x", "-x", "+y", "-y", "open", "close", "pick")
    observations = ("none", "left", "right", "both", "picked", "missed")
    next_states = 2
    horizon = 90
    return_range = 100.0
    exploration = 30.0

    def __init__(
        self,
        geometry: Geometry | None = None,
        *,
        cup_x: Sequence[float] = (-0.03, -0.02, -0.01, 0.0, 0.01, 0.02, 0.03),
        cup_y: Sequence[float] = (0.16, 0.17, 0.18, 0.19, 0.20, 0.21),
        start: tuple[float, float] = (0.0, 0.0),
        reach_x: tuple[float, float] = (-0.07, 0.07),
        reach_y: tuple[float, float] = (0.0, 0.21),
        step: float = 0.01,
        noise: float = 0.0,
        mismatch: float = 0.0,
        discount: float = 0.95,
        beta: float = 4.25,
    ) -> None:
        """All lengths are in metres. `noise` is the probability that a finger's reading is wrong; `mismatch` is the
        probability that a move or a pick turns out differently from what the geometry predicts."""
        for name, value in (("noise", noise), ("mismatch", mismatch)):
            if not 0.0 <= value < 0.5:
                raise UsageError(f"grasp: {name} must be a probability below 0.5, not {value!r}.")
        if not step > 0:
            raise UsageError(f"grasp: step must be a positive length, not {step!r}.")
        if not len(cup_x) or not len(cup_y):
            raise UsageError("grasp: give at least one cup_x and one cup_y.")
        self.geometry = geometry or Geometry()
        self.step, self.noise, self.mismatch, self.discount, self.beta = step, noise, mismatch, discount, beta
        self.sides, self.depths = (lattice(*given, step) for given in ((start[0], *reach_x), (start[1], *reach_y)))
        self.start_side, self.start_depth = (
            float(line[np.argmin(np.abs(line - s))]) for line, s in zip((self.sides, self.depths), start, strict=True)
        )
        self.cups = np.array([(cx, cy) for cx in cup_x for cy in cup_y], float)  # [cup, (x, y)]
        self.grid = (len(cup_x), len(cup_y))
        self.move_costs = (-1.0, -2.0, -5.0)  # by region
        known = tables(self.geometry, self.cups, self.sides, self.depths, self.move_costs)
        self.blocked, self.sensed, self.held, self.cost = known.blocked, known.sensed, known.held, known.cost
        self.grip_cost, self.prize = -10.0, 100.0
        self.hidden = Hidden(cup=tuple(f"({cx:+.3g}, {cy:.3g})" for cx, cy in self.cups))

    def start(self, x: Any) -> None:
        x.side, x.depth = self.start_side, self.start_depth

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        i, j = lattice_place(m, x)
        p[0] = 1.0
        y[0].stopped = FREE
        if a < OPEN and x.hand == HAND_OPEN:
            # The cup does not move, so a move that was just stopped is stopped again, wherever in its cell the cup is.
            stop = 1.0 if x.stopped == 1 + a else m.blocked[theta.cup, i, j, a]
            stop = m.mismatch + (1.0 - 2.0 * m.mismatch) * stop
            if a <= LEFT:
                y[0].side = m.sides[i + (1 if a == RIGHT else -1)]
            else:
                y[0].depth = m.depths[j + (1 if a == FORWARD else -1)]
            p[0] = 1.0 - stop
            y[1].stopped = 1 + a
            p[1] = stop
        elif a == OPEN:
            y[0].hand = HAND_OPEN
        elif a == CLOSE:
            y[0].hand = HAND_CLOSED
        elif a == PICK:
            y[0].hand = HAND_PICKED
            p[0] = pick_probability(m, x, theta)
            y[1].hand = HAND_MISSED
            y[1].stopped = FREE
            p[1] = 1.0 - p[0]

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if a == PICK:
            z[PICKED if y.hand == HAND_PICKED else MISSED] = 1.0
            return
        i, j = lattice_place(m, y)
        for felt in range(TOUCH_BOTH + 1):
            chance = 1.0 if felt == NONE else 0.0
            if y.hand == HAND_CLOSED:
                held = m.held[theta.cup, i, j]
                chance = held if felt == TOUCH_BOTH else 1.0 - held if felt == NONE else 0.0
            elif y.stopped != FREE:
                chance = m.sensed[theta.cup, i, j, a, felt]
            if chance > 0.0:
                for o in range(TOUCH_BOTH + 1):
                    z[o] += chance * reading_probability(m, o % 2, felt % 2) * reading_probability(m, o // 2, felt // 2)

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        if a < OPEN:
            i, j = lattice_place(m, x)
            return m.cost[theta.cup, i, j]
        if a < PICK:
            return m.grip_cost
        return m.prize * (2.0 * pick_probability(m, x, theta) - 1.0)

    def legal(m: Any, x: Any, a: int) -> bool:
        i, j = lattice_place(m, x)
        if a == RIGHT:
            return i + 1 < m.sides.shape[0]
        if a == LEFT:
            return i > 0
        if a == FORWARD:
            return j + 1 < m.depths.shape[0]
        if a == BACK:
            return j > 0
        return True

    def terminal(m: Any, x: Any) -> bool:
        return x.hand >= HAND_PICKED

    def success(self, x: Any, theta: Any) -> bool:
        """The cup was picked."""
        return bool(x.hand == HAND_PICKED)

    # ------------------------------------------------------------------ hints for planners

    def heuristic(m: Any, x: Any) -> float:
        return -20.0 if x.hand == HAND_OPEN else -40.0

    def policy(m: Any, x: Any, u: float) -> int:
        """Move forward until stopped, close, pick."""
        if x.hand == HAND_CLOSED:
            return PICK
        _, j = lattice_place(m, x)
        return CLOSE if x.stopped == 1 + FORWARD or j + 1 == m.depths.shape[0] else FORWARD

    # ------------------------------------------------------------------ reports and drawing

    def constants(self) -> dict[str, str]:
        """Describe the task's numbers for reports."""
        columns, rows = self.grid
        given = {f.name: getattr(self.geometry, f.name) for f in fields(self.geometry)}
        lengths = ", ".join(_describe_length(name, value) for name, value in given.items() if value is not None)
        costs = "/".join(f"{-c:g}" for c in self.move_costs)
        return {
            "gripper and cup": lengths,
            "cup positions": f"{columns} × {rows}; a step is {1000 * self.step:g} mm",
            "costs": f"move {costs}, open or close {-self.grip_cost:g}, pick ±{self.prize:g}",
            "error probabilities": f"{self.noise:g} per finger reading, {self.mismatch:g} for the geometry",
        }

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_shelf(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_shelf(self, axes, x, marginals)


def reading_probability(m: Any, read: int, true: int) -> float:
    """Return the probability that a finger reads `read` where `true` is correct."""
    return 1.0 - m.noise if read == true else m.noise


def pick_probability(m: Any, x: Any, theta: Any) -> float:
    """Return the probability that picking now gets the cup."""
    if x.hand != HAND_CLOSED:
        return 0.0
    i, j = lattice_place(m, x)
    return m.mismatch + (1.0 - 2.0 * m.mismatch) * m.held[theta.cup, i, j]


def _describe_length(name: str, value: float) -> str:
    number = f"{value:g}" if name == "inward" else f"{1000 * value:g} mm"  # `inward` is a cosine
    return f"{name.replace('_', ' ')} {number}"
