"""Grasping a cup in a shelf by touch (the POMDP-lite paper, Section VI), with what the paper leaves open filled in.

The paper gives rewards, step, actions, the number of observations and the three regions. Geometry, prior, noise,
discount and the limit on steps are ours: see docs/robot.md.
"""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.grasp.geometry import DIRECTIONS, Geometry, tables

RIGHT, LEFT, FORWARD, BACK, OPEN, CLOSE, PICK = range(7)
NONE, TOUCH_LEFT, TOUCH_RIGHT, TOUCH_BOTH, PICKED, MISSED = range(6)
HAND_OPEN, HAND_CLOSED, HAND_PICKED, HAND_MISSED = range(4)
FREE = 0  # x.stopped, else 1 + the move that was stopped


class Grasp(Model):
    """Feel for a cup in a shelf with an open gripper, close on it, and pick it: +100, or −100 if it is not in the hand.

    Moves of one step along x or y stop where the gripper meets the cup. They cost 1 with the cup between the fingers, 2
    with it ahead of the opening, 5 elsewhere; opening and closing cost 10. Sensors inside the fingers feel the cup.
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
        """All lengths in metres. `noise`: each finger's reading is wrong with this probability. `mismatch`: a move
        ends, and a pick comes out, the other way than the geometry says with this probability."""
        for name, value in (("noise", noise), ("mismatch", mismatch)):
            if not 0.0 <= value < 0.5:
                raise UsageError(f"grasp: {name} must be a probability below a half, not {value!r}.")
        if not step > 0:
            raise UsageError(f"grasp: step must be a positive length, not {step!r}.")
        if not len(cup_x) or not len(cup_y):
            raise UsageError("grasp: give at least one cup_x and one cup_y.")
        self.geometry = geometry or Geometry()
        self.step, self.noise, self.mismatch, self.discount, self.beta = step, noise, mismatch, discount, beta
        self.sides, self.depths = (_lattice(*given, step) for given in ((start[0], *reach_x), (start[1], *reach_y)))
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

    def constants(self) -> dict[str, str]:
        """The numbers of the task, for reports."""
        g, (columns, rows) = self.geometry, self.grid
        given = {f.name.replace("_", " "): getattr(g, f.name) for f in fields(g)}
        lengths = ", ".join(f"{name} {_millimetres(name, value)}" for name, value in given.items() if value is not None)
        costs = "/".join(f"{-c:g}" for c in self.move_costs)
        return {
            "gripper and cup": lengths,
            "cup's places": f"{columns} × {rows}, a step of {1000 * self.step:g} mm",
            "costs": f"a move {costs}, open or close {-self.grip_cost:g}, pick ±{self.prize:g}",
            "touch": f"wrong with probability {self.noise:g} a finger, geometry with {self.mismatch:g}",
        }

    def start(self, x: Any) -> None:
        x.side, x.depth = self.start_side, self.start_depth

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        i, j = place(m, x)
        p[0] = 1.0
        y[0].stopped = FREE
        if a < OPEN and x.hand == HAND_OPEN:
            # What has just stopped this move is still there: the cup does not move, wherever in its cell it is.
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
            p[0] = chance_to_pick(m, x, theta)
            y[1].hand = HAND_MISSED
            y[1].stopped = FREE
            p[1] = 1.0 - p[0]

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if a == PICK:
            z[PICKED if y.hand == HAND_PICKED else MISSED] = 1.0
            return
        i, j = place(m, y)
        for felt in range(TOUCH_BOTH + 1):
            chance = 1.0 if felt == NONE else 0.0
            if y.hand == HAND_CLOSED:
                held = m.held[theta.cup, i, j]
                chance = held if felt == TOUCH_BOTH else 1.0 - held if felt == NONE else 0.0
            elif y.stopped != FREE:
                chance = m.sensed[theta.cup, i, j, a, felt]
            if chance > 0.0:
                for o in range(TOUCH_BOTH + 1):
                    z[o] += chance * misread(m, o % 2, felt % 2) * misread(m, o // 2, felt // 2)

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        if a < OPEN:
            i, j = place(m, x)
            return m.cost[theta.cup, i, j]
        if a < PICK:
            return m.grip_cost
        return m.prize * (2.0 * chance_to_pick(m, x, theta) - 1.0)

    def legal(m: Any, x: Any, a: int) -> bool:
        i, j = place(m, x)
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

    def heuristic(m: Any, x: Any) -> float:
        return -20.0 if x.hand == HAND_OPEN else -40.0

    def policy(m: Any, x: Any, u: float) -> int:
        """Straight on until stopped, close, pick."""
        if x.hand == HAND_CLOSED:
            return PICK
        _, j = place(m, x)
        return CLOSE if x.stopped == 1 + FORWARD or j + 1 == m.depths.shape[0] else FORWARD

    def success(self, x: Any, theta: Any) -> bool:
        """Picked the cup."""
        return bool(x.hand == HAND_PICKED)

    # ------------------------------------------------------------------ drawing

    def touched(self, x: Any, marginals: list[Floats]) -> tuple[bool, bool]:
        """Whether the left and the right finger feel the cup, as the belief explains what stopped the gripper."""
        i, j = place(self, x)
        b = marginals[0]
        if x.hand == HAND_CLOSED:
            return (bool(b @ self.held[:, i, j] > 0.5),) * 2
        if x.stopped == FREE:
            return False, False
        felt = b @ (self.blocked[:, i, j, x.stopped - 1, None] * self.sensed[:, i, j, x.stopped - 1])
        likely = int(np.argmax(felt))
        return likely % 2 == 1, likely >= TOUCH_RIGHT

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """The shelf from above, a step a cell, its back on top: the belief in percent, the gripper's palm and fingers;
        a finger that feels the cup is ▓, one that does not is │."""
        g = self.geometry
        wide = g.mouth + g.finger_thickness / 2
        reach = round((max(abs(self.sides).max(), abs(self.cups[:, 0]).max()) + wide) / self.step)
        first = round(min(self.depths.min(), self.cups[:, 1].min()) / self.step)
        rows = range(first, round(max(self.depths.max() + g.finger_length, self.cups[:, 1].max()) / self.step) + 1)
        cells = {(row, col): "   " for row in rows for col in range(-reach, reach + 1)}
        for (cx, cy), p in zip(self.cups, marginals[0], strict=True):
            text = f"{100 * p:.0f}" if p >= 0.005 else "·"
            cells[round(cy / self.step), round(cx / self.step)] = text.center(3)
        closed = x.hand != HAND_OPEN
        palm, length = round(x.depth / self.step), round(g.finger_length / self.step)
        ends = [round((x.side + side * (g.cup_radius if closed else wide)) / self.step) for side in (-1, 1)]
        for col in range(max(-reach, ends[0]), min(reach, ends[1]) + 1):
            cells[palm, col] = "═══"
        for end, felt in zip(ends, self.touched(x, marginals), strict=True):
            for row in range(palm + 1, palm + 1 + length):
                if (row, end) in cells:
                    cells[row, end] = " ▓ " if felt else " │ "
        lines = ["".join(cells[row, col] for col in range(-reach, reach + 1)).rstrip() for row in reversed(rows)]
        drawn = [i for i, line in enumerate(lines) if line]
        stopped = "" if x.stopped == FREE else f", {self.actions[x.stopped - 1]} was stopped"
        hand = self.state.labels["hand"][int(x.hand)]
        return "\n".join([*lines[drawn[0] : drawn[-1] + 1], f"palm at ({x.side:+.3f}, {x.depth:.3f}), {hand}{stopped}"])

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """The shelf from above: the belief as a heat map, the gripper, fingers that feel the cup in orange."""
        from matplotlib.patches import Circle, Polygon, Rectangle

        g = self.geometry
        heat = marginals[0].reshape(self.grid).T
        low, high = self.cups.min(axis=0) - self.step / 2, self.cups.max(axis=0) + self.step / 2
        extent = (low[0], high[0], low[1], high[1])
        axes.imshow(heat, origin="lower", extent=extent, cmap="Blues", vmin=0, vmax=max(0.1, float(heat.max())))
        for (cx, cy), p in zip(self.cups, marginals[0], strict=True):
            if p >= 0.005:
                ink = "white" if p > 0.6 * max(0.1, float(heat.max())) else "0.25"
                axes.text(cx, cy, f"{100 * p:.0f}", ha="center", va="center", fontsize=6, color=ink)
        mean = marginals[0] @ self.cups
        axes.add_patch(Circle(mean, g.cup_radius, fill=False, ls=":", ec="#1f5fbf"))
        steel, warm = "0.45", "#f28e2b"
        inner, tip = (g.opening / 2, g.mouth) if x.hand == HAND_OPEN else (g.cup_radius, g.cup_radius)
        outer = inner + g.finger_thickness
        axes.add_patch(Rectangle((x.side - outer, x.depth - 0.02), 2 * outer, 0.02 + g.palm, color=steel))
        for felt, side in zip(self.touched(x, marginals), (-1, 1), strict=True):
            end = x.depth + g.finger_length
            corners = ((inner, x.depth), (tip, end), (tip + g.finger_thickness, end), (outer, x.depth))
            axes.add_patch(Polygon([(x.side + side * cx, cy) for cx, cy in corners], color=warm if felt else steel))
        if x.stopped != FREE:
            across, on = DIRECTIONS[x.stopped - 1]
            axes.annotate("", (x.side + 0.03 * across, x.depth - 0.01 + 0.03 * on), (x.side, x.depth - 0.01),
                          arrowprops={"arrowstyle": "-[", "color": "#d62728", "lw": 2})  # fmt: skip
        edge = g.mouth + g.finger_thickness + 0.01
        axes.set(xlim=(self.sides[0] - edge, self.sides[-1] + edge), aspect="equal", xlabel="x (m)", ylabel="y (m)")
        axes.set_ylim(self.depths[0] - 0.03, max(self.depths[-1] + g.finger_length, high[1]) + 0.02)
        axes.set_title(
            "cup in percent; dotted: its mean" + (" (hand closed)" if x.hand != HAND_OPEN else ""), fontsize=9
        )


def place(m: Any, x: Any) -> tuple[int, int]:
    """The pose's place in the lattice."""
    return int((x.side - m.sides[0]) / m.step + 0.5), int((x.depth - m.depths[0]) / m.step + 0.5)


def misread(m: Any, seen: int, true: int) -> float:
    """The probability that a finger reads `seen`."""
    return 1.0 - m.noise if seen == true else m.noise


def chance_to_pick(m: Any, x: Any, theta: Any) -> float:
    """The probability that picking now gives the cup."""
    if x.hand != HAND_CLOSED:
        return 0.0
    i, j = place(m, x)
    return m.mismatch + (1.0 - 2.0 * m.mismatch) * m.held[theta.cup, i, j]


def _lattice(start: float, low: float, high: float, step: float) -> Floats:
    """The places that steps from the start reach within bounds, each always the same number to the last bit."""
    if not low <= start <= high:
        raise UsageError(f"grasp: the start {start:g} is outside the reach from {low:g} to {high:g}.")
    back, on = int((start - low) / step + 1e-6), int((high - start) / step + 1e-6)
    return np.round(start + step * np.arange(-back, on + 1), 12) + 0.0


def _millimetres(name: str, value: float) -> str:
    """A number of the geometry: all are lengths but one."""
    return f"{value:g}" if name == "inward" else f"{1000 * value:g} mm"
