"""The maze with flags (Dearden, Friedman and Russell 1998): 33 cells, three flags, 264 states.

The agent collects flags and takes them to the goal, where it earns 1 for each and is put back to the start, without
flags. A move goes to the side with probability 0.1, to the left or to the right of where it was meant to go; it stays
where a wall is in the way. The paper leaves open to which side, and what is known beforehand; here every next state is
possible that some move leads to, or, "tied", one distribution over the three effects of a move holds everywhere.
"""

from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.unknown import UnknownMdp

MAP = (
    "S#F.#.G",
    ".#..#..",
    ".......",
    "##...##",
    "......F",
    "F.....#",
)
SLIP = 0.1
MOVES = {"up": (-1, 0), "right": (0, 1), "down": (1, 0), "left": (0, -1)}
PRIORS = ("local", "tied")


class FlagMaze(UnknownMdp):
    """Learn how moves slip in a maze, collect its three flags, and take them to the goal, again and again.

    prior  "local": any neighbouring cell may follow; "tied": moves slip in the same way everywhere
    """

    def __init__(
        self, prior: str = "local", slip: float = SLIP, *, horizon: int = 20_000, discount: float = 0.95
    ) -> None:  # fmt: skip
        if prior not in PRIORS:
            raise UsageError(f"no prior {prior!r}; there are {', '.join(PRIORS)}.")
        self._cells = [(r, c) for r, row in enumerate(MAP) for c, mark in enumerate(row) if mark != "#"]
        self._flags = [cell for cell in self._cells if MAP[cell[0]][cell[1]] == "F"]
        states = [f"row {r}, column {c}, flags {flags:03b}" for r, c in self._cells for flags in range(8)]
        meant = 1 - slip, slip / 2, slip / 2
        outcomes: dict[Any, list[tuple[int, float]]] = {}
        truth: dict[Any, Any] = {}
        for s in range(len(states)):
            ahead = [self._moved(s, move) for move in MOVES.values()]
            for a in range(len(MOVES)):
                effects = [ahead[a], ahead[a - 1], ahead[(a + 1) % len(MOVES)]]
                if prior == "tied":
                    outcomes[s, a] = effects
                    continue
                own = outcomes[s, a] = sorted(set(ahead))
                truth[s, a] = [sum(p for p, effect in zip(meant, effects, strict=True) if effect == one) for one in own]
        ties = {"moves": list(outcomes)} if prior == "tied" else {}
        super().__init__(
            states, tuple(MOVES), {}, discount=discount, horizon=horizon, outcomes=outcomes, ties=ties,
            truth={"moves": meant} if prior == "tied" else truth,
        )  # fmt: skip

    def _moved(self, s: int, move: tuple[int, int]) -> tuple[int, float]:
        """The next state, and the reward, of a move that goes this way."""
        (r, c), flags = self._cells[s // 8], s % 8
        to = r + move[0], c + move[1]
        if to not in self._cells:
            return s, 0.0
        mark = MAP[to[0]][to[1]]
        if mark == "G":
            return 0, float(flags.bit_count())
        if mark == "F":
            flags |= 1 << self._flags.index(to)
        return 8 * self._cells.index(to) + flags, 0.0

    def describe_state(self, x: Any) -> str:
        """The cell and the number of flags."""
        (r, c), flags = self._cells[int(x.state) // 8], int(x.state) % 8
        return f"row {r}, column {c}, {flags.bit_count()} flags"

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the maze; a flag that has been collected is gone."""
        here, flags = self._cells[int(x.state) // 8], int(x.state) % 8
        rows = [list(row) for row in MAP]
        for number, (r, c) in enumerate(self._flags):
            rows[r][c] = "." if flags >> number & 1 else "F"
        rows[here[0]][here[1]] = "@"
        return "\n".join(" ".join(row) for row in rows) + f"   {flags.bit_count()} flags"

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the maze."""
        from matplotlib.patches import Rectangle

        here, flags = self._cells[int(x.state) // 8], int(x.state) % 8
        for r, row in enumerate(MAP):
            for c, mark in enumerate(row):
                color = {"#": "dimgray", "G": "palegreen", "S": "lightblue"}.get(mark, "white")
                axes.add_patch(Rectangle((c, -r), 1, 1, facecolor=color, edgecolor="lightgray"))
                gone = (r, c) in self._flags and flags >> self._flags.index((r, c)) & 1
                label = "●" if (r, c) == here else "⚑" if mark == "F" and not gone else mark if mark in "SG" else ""
                axes.text(c + 0.5, 0.5 - r, label, ha="center", va="center", fontsize=14)
        axes.set(xlim=(0, len(MAP[0])), ylim=(1 - len(MAP), 1), aspect="equal", title=f"{flags.bit_count()} flags")
        axes.axis("off")
