"""Kitchen, after Fern, Natarajan, Judah and Tadepalli: hand ingredients to a cook without knowing the recipe.

The cook is in a room of cells. Each ingredient has a container at the wall, with a door; opening one shuts the others.
They fetch one ingredient at a time and pour it into the bowl on the counter. The assistant reaches all containers: it
opens one, fetches what is in the open one to the hatch beside the bowl, where there is room for one thing, or clears
the hatch. In each step the assistant acts, and then the cook; the cook begins. Rules in full: docs/assistants.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.assistance.kitchen_cook import NOTHING, USE, cook, remaining, stored
from pomdplite.problems.assistance.kitchen_drawing import draw_kitchen, paint_kitchen
from pomdplite.problems.assistance.kitchen_plans import layout, plans
from pomdplite.problems.assistance.rationality import checked_rationality, to_probabilities

WAIT, CLEAR, OPEN = range(3)  # OPEN + i opens container i; after these, the actions that fetch
RECIPES = {
    "pancakes": ("flour", "egg", "milk"),
    "omelette": ("egg", "butter"),
    "porridge": ("milk", "butter"),
    "shortbread": ("flour", "butter"),
}


class Kitchen(Model):
    """Help a cook whose recipe is hidden, at a cost of 1 for every action that the cook has to take.

    recipes      the ingredients of each recipe, by its name; all are equally probable
    size         columns and rows of the room
    rationality  of the cook: 0 for any action at random, infinity for the shortest ways only
    assistant    False if there is none: it can only wait
    beta         weight of exploration; by default the library chooses it
    """

    state = State(
        cell=np.int8, open=np.int8, hand=np.int8, hatch=np.int8, bowl=np.int16, begun=bool, done=bool
    )  # bowl: bit i is ingredient i
    next_states = 5
    return_range = 1.0

    def __init__(
        self,
        recipes: Mapping[str, Sequence[str]] = RECIPES,
        size: tuple[int, int] = (4, 3),
        rationality: float = 1.5,
        assistant: bool = True,
        discount: float = 1.0,
        beta: float | None = None,
    ) -> None:
        self.ingredients = tuple(dict.fromkeys(item for recipe in recipes.values() for item in recipe))
        self.items, self.longest = len(self.ingredients), max(map(len, recipes.values()), default=0)
        if not recipes or min(map(len, recipes.values())) < 1 or self.items > 12:
            raise UsageError("Kitchen: there must be recipes, none without ingredients, with at most 12 in all.")
        if any(len(set(recipe)) < len(recipe) for recipe in recipes.values()):
            raise UsageError("Kitchen: a recipe names an ingredient twice.")
        self.recipes = {name: tuple(recipe) for name, recipe in recipes.items()}
        self.columns, self.rows = size
        self.rationality, self.discount, self.assistant = checked_rationality(rationality), discount, bool(assistant)
        self.beta = beta
        self.neighbour, self.station, self.counter = layout(self.columns, self.rows, self.items)
        needed = [[self.ingredients.index(item) for item in recipe] for recipe in recipes.values()]
        found = plans(needed, self.items, self.neighbour, self.station, self.rationality)
        self.to_go, self.slot, self.packed, self.alone = found.to_go, found.slot, found.packed, found.alone
        self.hidden = Hidden(recipe=tuple(recipes))
        self.actions = (
            "wait", "clear", *(f"open-{i}" for i in self.ingredients), *(f"fetch-{i}" for i in self.ingredients)
        )  # fmt: skip

    def start(self, x: Any) -> None:
        """The cook is at the counter, and it is the cook's turn."""
        x.cell = self.counter

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        for c in range(USE + 1):
            y[c].begun = True
            if a >= OPEN + m.items:
                y[c].hatch, y[c].open = a - OPEN - m.items + 1, NOTHING
            elif a >= OPEN:
                y[c].open = a - OPEN + 1
            elif a == CLEAR:
                y[c].hatch = NOTHING
            p[c] = remaining(m, theta.recipe, y[c]) if cook(m, theta.recipe, y[c], c) else -1.0
            y[c].done = p[c] == 0.0
        to_probabilities(p, m.rationality)

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return -1.0

    def legal(m: Any, x: Any, a: int) -> bool:
        if a == WAIT or not x.begun or not m.assistant:
            return a == WAIT
        if a == CLEAR:
            return x.hatch != NOTHING
        if a >= OPEN + m.items:
            return x.open == a - OPEN - m.items + 1 and x.hatch == NOTHING
        return x.open != a - OPEN + 1 and stored(x, a - OPEN + 1)

    def terminal(m: Any, x: Any) -> bool:
        return x.done

    def success(self, x: Any, theta: Any) -> bool:
        """The dish is complete."""
        return bool(x.done)

    # ------------------------------------------------------------------ hints for planners

    def policy(m: Any, x: Any, u: float) -> int:
        return WAIT

    def upper(m: Any, x: Any, theta: Any) -> float:
        """Every ingredient that is missing still has to be poured."""
        left, total = m.packed[theta.recipe, m.packed.shape[1] - 1] & ~m.packed[theta.recipe, x.bowl], 0.0
        while left:
            left, total = left & (left - 1), m.discount * total - 1.0
        return total

    # ------------------------------------------------------------------ for people

    def constants(self) -> dict[str, str]:
        """How this kitchen is configured, for reports."""
        return {
            "room": f"{self.columns} × {self.rows} cells",
            "ingredients": ", ".join(self.ingredients),
            "recipes": str(len(self.recipes)),
            "rationality of the cook": f"{self.rationality:g}",
            "steps of the cook without help": f"{self.alone.mean():.1f} on average",
        }

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_kitchen(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_kitchen(self, axes, x, marginals)
