"""Gymnasium's Taxi (Dietterich 2000; Towers et al. 2024), with actions whose effects are to be learned.

A taxi in a town of 5 × 5 cells picks up a passenger at one of four places and takes them to another. A step costs 1, a
pick-up or drop-off where there is none costs 10, and the right drop-off earns 20 and ends the ride; the same ride then
begins again, until all steps are taken. Nothing is left to chance, but the agent does not know so: whatever some action
does in a state, any other could do.
"""

from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.model.unknown import UnknownMdp
from pomdplite.problems.unknown.transition_tables import Table, to_learn

ROWS = (
    "R: | : :G",
    " : | : : ",
    " : : : : ",
    " | : | : ",
    "Y| : |B: ",
)  # cells, with walls between them
PLACES = {"R": (0, 0), "G": (0, 4), "Y": (4, 0), "B": (4, 3)}
ACTIONS = ("south", "north", "east", "west", "pick up", "drop off")
BETA = 10.0  # the best of a few on another ride (docs/unknown-mdp.md)
SIDE, PASSENGERS = 5, 5  # the passenger's fifth place is the taxi
START = (3, 0, 3, 2)  # row and column, from B to Y: the first ride of Gymnasium's Taxi with seed 0


class Taxi(UnknownMdp):
    """Learn what six actions do in a town, and take a passenger from one place to another, again and again.

    start    row and column of the taxi, and the numbers of the passenger's place and destination: R, G, Y, B
    known    "state": whatever some action does in a state, any other could do; "action": only what it does
    horizon  steps, in as many rides as that makes
    """

    def __init__(
        self, start: tuple[int, int, int, int] = START, *, known: str = "state", horizon: int = 2000,
        discount: float = 1.0,
    ) -> None:  # fmt: skip
        where = [*(f"at {place}" for place in PLACES), "aboard"]
        states = [
            f"row {r}, column {c}, passenger {where[passenger]}, to {place}"
            for r in range(SIDE) for c in range(SIDE) for passenger in range(PASSENGERS) for place in PLACES
        ]  # fmt: skip
        first = encoded(*start)
        given = to_learn(taxi_table(), first, known)
        super().__init__(
            states, ACTIONS, {}, discount=discount, outcomes=given.outcomes, truth=given.truth, start=first,
            horizon=horizon, beta=BETA,
        )  # fmt: skip

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the town with the taxi, @, or T with the passenger aboard."""
        r, c, passenger, destination = decoded(int(x.state))
        rows = [list(row) for row in ROWS]
        rows[r][2 * c] = "T" if passenger == len(PLACES) else "@"
        where = "aboard" if passenger == len(PLACES) else f"at {list(PLACES)[passenger]}"
        return "\n".join("".join(row) for row in rows) + f"\npassenger {where}, to {list(PLACES)[destination]}"

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the town: walls, the four places, the taxi, the passenger and the destination."""
        from matplotlib.patches import Rectangle

        r, c, passenger, destination = decoded(int(x.state))
        for number, (name, (row, column)) in enumerate(PLACES.items()):
            color = "palegreen" if number == destination else "white"
            axes.add_patch(Rectangle((column, -row), 1, 1, facecolor=color, edgecolor="none"))
            axes.text(column + 0.1, 0.75 - row, name, color="gray")
        for row in range(SIDE):
            for column in range(1, SIDE):
                color, width = ("black", 3) if ROWS[row][2 * column - 1] == "|" else ("lightgray", 1)
                axes.plot([column] * 2, [-row, 1 - row], color=color, linewidth=width)
        color = "tab:orange" if passenger == len(PLACES) else "gold"
        axes.add_patch(Rectangle((c + 0.2, 0.3 - r), 0.6, 0.35, facecolor=color, edgecolor="black"))
        if passenger < len(PLACES):
            row, column = list(PLACES.values())[passenger]
            axes.text(column + 0.5, 0.5 - row, "●", ha="center", va="center", fontsize=12)
        axes.add_patch(Rectangle((0, 1 - SIDE), SIDE, SIDE, fill=False))
        axes.set(xlim=(-0.05, SIDE + 0.05), ylim=(0.95 - SIDE, 1.05), aspect="equal")
        axes.axis("off")


def encoded(row: int, column: int, passenger: int, destination: int) -> int:
    """The number of a state."""
    return ((row * SIDE + column) * PASSENGERS + passenger) * len(PLACES) + destination


def decoded(s: int) -> tuple[int, int, int, int]:
    """The row and column of the taxi, the passenger's place, and the destination."""
    rest, destination = divmod(s, len(PLACES))
    cell, passenger = divmod(rest, PASSENGERS)
    return cell // SIDE, cell % SIDE, passenger, destination


def taxi_table() -> Table:
    """Taxi's table P."""
    return {
        s: {a: [_effect(*decoded(s), name)] for a, name in enumerate(ACTIONS)}
        for s in range(SIDE * SIDE * PASSENGERS * len(PLACES))
    }


def _effect(row: int, column: int, passenger: int, destination: int, action: str) -> tuple[float, int, float, bool]:
    """What an action does."""
    reward, over, places = -1.0, False, list(PLACES.values())
    here = places.index((row, column)) if (row, column) in places else -1
    if action == "south":
        row = min(row + 1, SIDE - 1)
    elif action == "north":
        row = max(row - 1, 0)
    elif action == "east" and column < SIDE - 1 and ROWS[row][2 * column + 1] == ":":
        column += 1
    elif action == "west" and column > 0 and ROWS[row][2 * column - 1] == ":":
        column -= 1
    elif action == "pick up":
        passenger, reward = (len(PLACES), reward) if passenger == here else (passenger, -10.0)
    elif action == "drop off":
        if passenger < len(PLACES) or here < 0:
            reward = -10.0
        else:
            passenger, over = here, here == destination
            reward = 20.0 if over else reward
    return 1.0, encoded(row, column, passenger, destination), reward, over
