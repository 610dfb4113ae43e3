"""A maze with hidden doors: every move and everything seen is deterministic, only the doors are unknown.

Two walls cross a room from north to south. Each has a door in one of three rows, and nobody knows in which. Running
into a wall hurts, and tells that there is no door. A sign in the north tells where the door is, but takes some steps to
reach. It is the kind of model for which the paper's Lemma 2 holds: one try of a step tells all about it.
"""

from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State, independent

NORTH, EAST, SOUTH, WEST, READ = range(5)
ROWS, COLUMNS, WALLS = 3, 5, 2
NO_WALL = -1
END = COLUMNS - 1
_SIGN = "?"
_ROW_NAMES = ("north", "middle", "south")
_BLUE, _GREEN, _LIGHT_GREEN = "#1f5fbf", "#2c6e2c", "#cfe8cf"


def wall_of(col: int, a: int) -> int:
    """The wall that a step crosses, if there is a door, or that a sign is about; walls are east of columns 1 and 3."""
    if a == READ:
        return col // 2
    side = col if a == EAST else col - 1
    return side // 2 if a in (EAST, WEST) and side % 2 == 1 else NO_WALL


def _has_sign(row: int, col: int) -> bool:
    return row == 0 and col % 2 == 0 and col < END


class Maze(Model):
    """Find the way to the east end through two walls, each with a door in one of three rows.

    A sign in the northern row, to the west of each wall, tells where its door is. Every step costs 1, running into a
    wall costs 5.
    """

    state = State(row=int, col=int)
    hidden = Hidden(door=independent(WALLS, _ROW_NAMES))
    actions = ("north", "east", "south", "west", "read")
    observations = _ROW_NAMES
    discount = 0.95
    beta = 8.0  # POMDP-lite then reads both signs, as the Bayes-optimal policy does

    def start(self, x: Any) -> None:
        x.row, x.col = 1, 0

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        wall = wall_of(x.col, a)
        if a == NORTH:
            y.row = x.row - 1
        elif a == SOUTH:
            y.row = x.row + 1
        elif a != READ and (wall == NO_WALL or theta.door[wall] == x.row):
            y.col = x.col + 1 if a == EAST else x.col - 1

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if a == READ:
            z[theta.door[wall_of(y.col, a)]] = 1.0

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        wall = wall_of(x.col, a)
        return -5.0 if a != READ and wall != NO_WALL and theta.door[wall] != x.row else -1.0

    def depends(m: Any, x: Any, a: int) -> int:
        return wall_of(x.col, a)

    def legal(m: Any, x: Any, a: int) -> bool:
        if a == NORTH:
            return x.row > 0
        if a == SOUTH:
            return x.row < ROWS - 1
        if a == READ:
            return x.row == 0 and x.col % 2 == 0
        return a == EAST or x.col > 0

    def terminal(m: Any, x: Any) -> bool:
        return x.col == END

    def success(self, x: Any, theta: Any) -> bool:
        """The east end was reached."""
        return bool(x.col == END)

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the room, with signs as ? and the probability of a door in every row of both walls, in percent."""
        lines = []
        for row in range(ROWS):
            cells = []
            for col in range(COLUMNS):
                here = (x.row, x.col) == (row, col)
                cells.append("[R]" if here else f" {_SIGN if _has_sign(row, col) else '⚑' if col == END else '·'} ")
                if col % 2 == 1:
                    cells.append(f"│{100 * float(marginals[col // 2][row]):3.0f}│")
            lines.append("".join(cells).rstrip())
        return "\n".join([*lines, "between │ │: probability of a door, in percent"])

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the room; a wall is the darker, the less likely it has a door there."""
        from matplotlib.patches import Rectangle

        axes.axvspan(END - 0.5, END + 0.5, color=_LIGHT_GREEN)
        axes.text(END, 1, "end", ha="center", va="center", color=_GREEN)
        for row in range(ROWS):
            for col in range(COLUMNS):
                axes.add_patch(Rectangle((col - 0.5, row - 0.5), 1, 1, fill=False, edgecolor="0.85"))
                if _has_sign(row, col):
                    axes.text(col, row, _SIGN, ha="center", va="center", fontsize=13, color="0.35")
        for wall, beliefs in enumerate(marginals):
            for row, p in enumerate(beliefs):
                left = 2 * wall + 1.2
                axes.add_patch(Rectangle((left, row - 0.5), 0.3, 1, facecolor=str(0.25 + 0.75 * float(p)), ec="black"))
                ink = "black" if p > 0.3 else "white"
                axes.text(left + 0.15, row, f"{100 * p:.0f}", fontsize=8, ha="center", va="center", color=ink)
        width = 0.62 if x.col % 2 else 0.9  # beside a wall
        axes.add_patch(Rectangle((x.col - 0.45, x.row - 0.45), width, 0.9, fill=False, edgecolor=_BLUE, lw=3, zorder=5))
        axes.set(xlim=(-0.5, END + 0.5), ylim=(ROWS - 0.5, -0.5), aspect="equal", xticks=[], yticks=[])
