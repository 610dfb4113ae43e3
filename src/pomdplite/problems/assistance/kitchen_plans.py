"""The room of a kitchen, and the cook's shortest ways through each recipe."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import UsageError
from pomdplite.problems.assistance.rationality import ILLEGAL, expected_steps, steps_to_go
from pomdplite.rng import stream, uniform

LARDER = ("flour", "egg", "milk", "butter", "rice", "onion")
_SIZES = (2, 3, 4)  # ingredients of a generated recipe


class Plans(NamedTuple):
    """For each recipe, with its own ingredients numbered from 1 (a slot; 0 for anything else)."""

    to_go: Ints  # [recipe, cell, open, hand, hatch, bowl] fewest actions, in slots; the bowl as bits
    slot: Ints  # [recipe, item] item 0 is nothing
    packed: Ints  # [recipe, bowl] the bits of all ingredients as bits of slots
    alone: Floats  # [recipe] how many actions the cook takes on average if nobody helps


def generated_recipes(count: int) -> dict[str, tuple[str, ...]]:
    """Draw `count` different recipes of two to four ingredients from as small a larder as has that many."""
    for items in range(_SIZES[0] + 1, len(LARDER) + 1):
        all_recipes = [r for size in _SIZES for r in itertools.combinations(LARDER[:items], size) if size < items]
        if 1 < count <= len(all_recipes):
            random = stream(count, items)
            chosen = [all_recipes.pop(int(uniform(random) * len(all_recipes))) for _ in range(count)]
            return {"+".join(recipe): recipe for recipe in sorted(chosen, key=lambda r: (len(r), r))}
    raise UsageError(f"Kitchen: there are 2 to {len(all_recipes)} generated recipes, not {count}.")


def layout(columns: int, rows: int, items: int) -> tuple[Ints, Ints, int]:
    """The room: neighbour[cell, direction], ILLEGAL at walls; station[cell]; and the counter's cell.

    A station is 0 for none, i + 1 for the container of ingredient i, and items + 1 for the counter. Containers are
    spread evenly around the walls, and the counter is in the middle. Cells are numbered row by row, from the north.
    """
    around = [
        *((0, c) for c in range(columns)), *((r, columns - 1) for r in range(1, rows)),
        *((rows - 1, c) for c in reversed(range(columns - 1))), *((r, 0) for r in reversed(range(1, rows - 1))),
    ]  # fmt: skip
    counter = (rows // 2) * columns + columns // 2
    walls = [r * columns + c for r, c in around if r * columns + c != counter]
    if min(columns, rows) < 3 or columns * rows > 100 or items > len(walls):
        raise UsageError(
            f"Kitchen: {items} containers need a room of at least 3 × 3 and at most 100 cells, with as many cells at "
            f"its walls, unlike {columns} × {rows}."
        )
    neighbour = np.full((columns * rows, 4), ILLEGAL)
    for cell in range(columns * rows):
        r, c = divmod(cell, columns)
        for direction, (down, right) in enumerate(((-1, 0), (1, 0), (0, 1), (0, -1))):  # north, south, east, west
            if 0 <= r + down < rows and 0 <= c + right < columns:
                neighbour[cell, direction] = cell + down * columns + right
    station = np.zeros(columns * rows, np.int64)
    for i in range(items):
        station[walls[i * len(walls) // items]] = i + 1
    station[counter] = items + 1
    return neighbour, station, counter


def plans(recipes: Sequence[Sequence[int]], items: int, neighbour: Ints, station: Ints, rationality: float) -> Plans:
    """Solve every recipe, given as the numbers of its ingredients, for a cook who works alone."""
    longest = max(map(len, recipes))
    to_go = np.zeros((len(recipes), *_shape(len(station), longest)), np.int64)
    slot = np.zeros((len(recipes), items + 2), np.int64)
    packed = np.zeros((len(recipes), 2**items), np.int64)
    alone = np.zeros(len(recipes))
    for number, recipe in enumerate(recipes):
        for at, item in enumerate(recipe):
            slot[number, item + 1] = at + 1
            packed[number] |= ((np.arange(2**items) >> item) & 1) << at
        size, bowls = len(recipe), 2 ** len(recipe)
        shape = _shape(len(station), size)
        after = _after(shape, neighbour, slot[number][station], station == items + 1)
        steps = steps_to_go(after, np.broadcast_to(np.arange(bowls) == bowls - 1, shape).ravel())
        start = int(np.ravel_multi_index((int(np.argmax(station)), 0, 0, 0, 0), shape))
        alone[number] = expected_steps(after, steps, rationality, start)
        steps = steps.reshape(shape)
        to_go[number, :, : size + 1, : size + 1, : size + 1, :bowls] = steps[:, :, : size + 1]
        to_go[number, :, : size + 1, longest + 1, : size + 1, :bowls] = steps[:, :, size + 1]
    return Plans(to_go, slot, packed, alone)


def _shape(cells: int, size: int) -> tuple[int, ...]:
    """Of the cook's states for a recipe of this many ingredients; one more in the hand is none of them."""
    return cells, size + 1, size + 2, size + 1, 2**size


def _after(shape: tuple[int, ...], neighbour: Ints, container: Ints, is_counter: Ints) -> Ints:
    """The state after each of the cook's actions, [state, action]; container[cell]: the slot that is kept there."""
    cell, opened, hand, hatch, bowl = (axis.ravel() for axis in np.indices(shape))
    after = np.full((len(cell), 5), ILLEGAL)

    def index(*fields: Ints) -> Ints:
        return np.ravel_multi_index([np.where(legal, field, 0) for field in fields], shape)

    for direction in range(4):
        to = neighbour[cell, direction]
        legal = to != ILLEGAL
        after[:, direction] = np.where(legal, index(to, opened, hand, hatch, bowl), ILLEGAL)
    poured = np.where(hand > 0, hand, hatch)
    needed = (poured > 0) & (poured <= shape[1] - 1)
    with_it = np.where(needed, bowl | np.left_shift(1, (poured - 1).clip(0)), bowl)
    legal = is_counter[cell] & (poured > 0)
    pour = index(cell, opened, np.zeros_like(hand), np.where(hand > 0, hatch, 0), with_it)
    after[:, 4] = np.where(legal, pour, ILLEGAL)
    here = container[cell]
    legal = (here > 0) & (hand == 0) & (hatch != here) & ((bowl >> (here - 1).clip(0)) & 1 == 0)
    take, leave = opened == here, np.zeros_like(hand)
    use = index(cell, np.where(take, 0, here), np.where(take, here, leave), hatch, bowl)
    after[:, 4] = np.where(legal, use, after[:, 4])
    return after
