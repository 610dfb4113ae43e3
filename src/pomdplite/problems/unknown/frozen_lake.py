"""Gymnasium's FrozenLake-v1 (Towers et al. 2024), with ice whose slipperiness is to be learned.

Cross a lake of 4 × 4 cells from the start to the goal, which pays 1. A hole ends the walk without pay. Then the next
walk begins, until all steps are taken. The ice takes the agent where it wants to go, or to either side of that, with a
probability of 1/3 each. It does not know so: any neighbouring cell could follow any action.
"""

from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.unknown import UnknownMdp
from pomdplite.problems.unknown.transition_tables import Table, to_learn

MAP = ("SFFF", "FHFH", "FFFH", "HFFG")  # start, frozen, hole, goal
BETA = 0.03  # the best of a few on 8 episodes (docs/unknown-mdp.md)
MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}


class FrozenLake(UnknownMdp):
    """Learn how the ice slips, and cross a frozen lake with holes, again and again.

    lake      rows of S (start), F (frozen), H (hole) and G (goal); by default Gymnasium's lake of 4 × 4 cells
    slippery  whether the ice takes the agent to either side, too
    known     "state": any neighbouring cell may follow; "action": only cells that the action can lead to
    horizon   steps, in as many walks as that makes
    """

    def __init__(
        self, lake: tuple[str, ...] = MAP, *, slippery: bool = True, known: str = "state", horizon: int = 2000,
        discount: float = 1.0,
    ) -> None:  # fmt: skip
        if len(set(map(len, lake))) != 1 or set("".join(lake)) - set("SFHG") or "".join(lake).count("S") != 1:
            raise UsageError("a lake has rows of equal length, of the letters S, F, H and G, with one S.")
        self._lake = lake
        start, width = "".join(lake).index("S"), len(lake[0])
        given = to_learn(frozen_lake_table(lake, slippery), start, known)
        states = [f"row {s // width}, column {s % width}" for s in range(len(lake) * width)]
        super().__init__(
            states, tuple(MOVES), {}, discount=discount, outcomes=given.outcomes, truth=given.truth, start=start,
            horizon=horizon, beta=BETA,
        )  # fmt: skip

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the lake, with the agent on it."""
        rows = [list(row.replace("F", ".")) for row in self._lake]
        rows[int(x.state) // len(rows[0])][int(x.state) % len(rows[0])] = "@"
        return "\n".join(" ".join(row) for row in rows)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the lake; an arrow shows where each action leads on average, according to the belief."""
        from matplotlib.patches import Rectangle

        width = len(self._lake[0])
        for s, mark in enumerate("".join(self._lake)):
            r, c = divmod(s, width)
            color = {"H": "steelblue", "G": "palegreen", "S": "lightyellow"}.get(mark, "aliceblue")
            axes.add_patch(Rectangle((c, -r), 1, 1, facecolor=color, edgecolor="lightgray"))
            for a in range(len(MOVES) if mark in "SF" else 0):
                right, up = self._drift(s, a, marginals[self.group[s, a]])
                axes.plot([c + 0.5, c + 0.5 + 0.6 * right], [0.5 - r, 0.5 - r + 0.6 * up], color="gray", linewidth=1)
        r, c = divmod(int(x.state), width)
        axes.text(c + 0.5, 0.5 - r, "●", ha="center", va="center", fontsize=14, color="tab:orange")
        axes.set(xlim=(0, width), ylim=(1 - len(self._lake), 1), aspect="equal")
        axes.axis("off")

    def _drift(self, s: int, a: int, p: Floats) -> tuple[float, float]:
        """The expected move to the right and up; the end of a walk counts as none."""
        width, right, up = len(self._lake[0]), 0.0, 0.0
        for k, chance in enumerate(p):
            t = int(self.after[s, a, k])
            if t != self.first or abs(t // width - s // width) + abs(t % width - s % width) == 1:
                right, up = right + chance * (t % width - s % width), up - chance * (t // width - s // width)
        return right, up


def frozen_lake_table(lake: tuple[str, ...], slippery: bool) -> Table:
    """FrozenLake's table P."""
    width, marks, moves = len(lake[0]), "".join(lake), list(MOVES.values())
    table: dict[int, dict[int, list[tuple[float, int, float, bool]]]] = {}
    for s, mark in enumerate(marks):
        table[s] = {a: [(1.0, s, 0.0, True)] for a in range(len(moves))}
        for a in range(len(moves) if mark in "SF" else 0):
            table[s][a] = []
            for way in (a - 1, a, a + 1) if slippery else (a,):
                down, right = moves[way % len(moves)]
                r = min(max(s // width + down, 0), len(lake) - 1)
                t = r * width + min(max(s % width + right, 0), width - 1)
                table[s][a].append((1 / 3 if slippery else 1.0, t, float(marks[t] == "G"), marks[t] in "HG"))
    return table
