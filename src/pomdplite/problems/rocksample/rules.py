"""RockSample(n, k) (Smith and Simmons 2004), with the conventions of published POMDP solvers.

Unlike there, moves that leave the map anywhere but in the east are illegal rather than penalized.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State, independent
from pomdplite.problems.rocksample.drawing import draw_map, paint_map
from pomdplite.problems.rocksample.symbols import BAD, CHECK, EAST, GOOD, NO_ROCK, NORTH, SAMPLE, SOUTH, WEST


class RockSample(Model):
    """A rover on an n × n grid samples rocks, good (+10) or bad (−10), and leaves past the east edge (+10).

    From distance d, its sensor reports a rock's quality correctly with probability (1 + 2^(−d/range)) / 2.
    Sampling turns a rock bad. Coordinates are (column, row), with row 0 in the south.
    """

    state = State(col=np.int16, row=np.int16)
    observations = ("bad", "good")
    beta = 0.8
    horizon = 90
    exploration = 10.0
    return_range = 20.0

    def __init__(
        self,
        size: int,
        rocks: Sequence[tuple[int, int]],
        start: tuple[int, int] | None = None,
        sensor_range: float = 20.0,
        good: float = 10.0,
        bad: float = -10.0,
        exit: float = 10.0,
        discount: float = 0.95,
        good_probability: float = 0.5,
    ) -> None:
        places = [(int(col), int(row)) for col, row in rocks]
        first = (0, size // 2) if start is None else (int(start[0]), int(start[1]))
        if size < 1 or not places:
            raise UsageError("RockSample: the map needs at least one cell and at least one rock.")
        for what, (col, row) in [*((f"rock {i}", p) for i, p in enumerate(places)), ("the start", first)]:
            if not (0 <= col < size and 0 <= row < size):
                raise UsageError(f"RockSample: {what} at ({col}, {row}) is outside the {size} × {size} grid.")
        if len(set(places)) != len(places):
            raise UsageError("RockSample: two rocks share a cell.")
        if sensor_range <= 0:
            raise UsageError(f"RockSample: sensor_range must be positive, not {sensor_range}.")
        self.size, self.start_col, self.start_row = size, first[0], first[1]
        self.good, self.bad, self.exit, self.discount = good, bad, exit, discount
        self.rocks = np.array(places, np.int64)  # [rock, (col, row)]
        self.rock_at = np.full((size, size), NO_ROCK, np.int64)  # [col, row]
        self.rock_at[self.rocks[:, 0], self.rocks[:, 1]] = np.arange(len(places))
        cols, rows = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
        distance = np.hypot(self.rocks[:, 0, None, None] - cols, self.rocks[:, 1, None, None] - rows)
        self.accuracy = (1 + 2 ** (-distance / sensor_range)) / 2  # [rock, col, row]
        # [col, row, i]: the i-th nearest rock and its distance in moves
        moves = np.abs(self.rocks[:, 0, None, None] - cols) + np.abs(self.rocks[:, 1, None, None] - rows)
        self.nearest = np.moveaxis(np.argsort(moves, axis=0, kind="stable"), 0, -1)
        self.moves = np.moveaxis(np.sort(moves, axis=0), 0, -1)
        self.memory = State(looks=(np.int16, len(places)), net=(np.int16, len(places)), sampled=(bool, len(places)))
        self.hidden = Hidden(rock=independent(len(places), {"bad": 1 - good_probability, "good": good_probability}))
        self.actions = ("north", "south", "east", "west", "sample", *(f"check-{i}" for i in range(len(places))))

    def start(self, x: Any) -> None:
        x.col, x.row = self.start_col, self.start_row

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        if a == NORTH:
            y.row += 1
        elif a == SOUTH:
            y.row -= 1
        elif a == EAST:
            y.col += 1
        elif a == WEST:
            y.col -= 1

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if a >= CHECK:
            rock = a - CHECK
            right = m.accuracy[rock, y.col, y.row]
            z[theta.rock[rock]] = right
            z[1 - theta.rock[rock]] = 1.0 - right

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        if a == SAMPLE:
            return m.good if theta.rock[m.rock_at[x.col, x.row]] == GOOD else m.bad
        if a == EAST and x.col == m.size - 1:
            return m.exit
        return 0.0

    def evolve(m: Any, x: Any, theta: Any, a: int, theta_next: Any) -> None:
        if a == SAMPLE:
            theta_next.rock[m.rock_at[x.col, x.row]] = BAD

    def depends(m: Any, x: Any, a: int) -> int:
        if a == SAMPLE:
            return m.rock_at[x.col, x.row]
        return a - CHECK if a >= CHECK else -1

    def legal(m: Any, x: Any, a: int) -> bool:
        if a == NORTH:
            return x.row < m.size - 1
        if a == SOUTH:
            return x.row > 0
        if a == WEST:
            return x.col > 0
        if a == SAMPLE:
            return m.rock_at[x.col, x.row] != NO_ROCK
        return True

    def terminal(m: Any, x: Any) -> bool:
        return x.col == m.size

    def success(self, x: Any, theta: Any) -> bool:
        """The rover left the map before the horizon."""
        return bool(x.col == self.size)

    # ------------------------------------------------------------------ hints for planners

    def heuristic(m: Any, x: Any) -> float:
        return m.exit * m.discount ** (m.size - 1 - x.col)  # go straight to the east edge

    def policy(m: Any, x: Any, u: float) -> int:
        return EAST

    def upper(m: Any, x: Any, theta: Any) -> float:
        """Sample the good rocks nearest first: no rock earlier than the rover can reach it, and one per step."""
        if m.bad > 0.0:
            return max(m.good, m.bad, m.exit, 0.0) / (1.0 - m.discount)
        total, taken = max(m.exit, 0.0) * m.discount ** (m.size - 1 - x.col), 0
        for i in range(m.rocks.shape[0]):
            if theta.rock[m.nearest[x.col, x.row, i]] == GOOD:
                total += max(m.good, 0.0) * m.discount ** (m.moves[x.col, x.row, i] + taken)
                taken += 1
        return total

    def remember(m: Any, x: Any, a: int, y: Any, o: int, h: Any) -> None:
        if a == SAMPLE:
            h.sampled[m.rock_at[x.col, x.row]] = 1
        elif a >= CHECK:
            h.looks[a - CHECK] += 1
            h.net[a - CHECK] += 1 if o == GOOD else -1

    def preferred(m: Any, x: Any, h: Any, f: Any) -> None:
        """Silver and Veness's domain knowledge: sample the rock here if it looks good; otherwise head for rocks that do
        not look bad and check those still in doubt. Leave when no such rock is left."""
        here = m.rock_at[x.col, x.row]
        if here != NO_ROCK and not h.sampled[here] and h.net[here] > 0:
            f[SAMPLE] = 1.0
            return
        none_left = True
        for rock in range(m.rocks.shape[0]):
            if h.sampled[rock] or h.net[rock] < 0:
                continue
            none_left = False
            if m.rocks[rock, 0] != x.col:
                f[EAST if m.rocks[rock, 0] > x.col else WEST] = 1.0
            if m.rocks[rock, 1] != x.row:
                f[NORTH if m.rocks[rock, 1] > x.row else SOUTH] = 1.0
        if none_left:
            f[EAST] = 1.0
            return
        for rock in range(m.rocks.shape[0]):
            if not h.sampled[rock] and h.looks[rock] < 5 and abs(h.net[rock]) < 2:
                f[CHECK + rock] = 1.0

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_map(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_map(self, axes, x, marginals)
