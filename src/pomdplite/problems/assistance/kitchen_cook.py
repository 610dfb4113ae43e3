"""What the cook can do, and how much is left to do. These functions are compiled with the model's."""

from typing import Any

NOTHING = 0  # in x.open, x.hand and x.hatch; ingredient i is i + 1 there
USE = 4  # the cook's action after four moves: open, take or pour, whichever is possible there


def stored(x: Any, item: int) -> bool:
    """Whether an ingredient is in its container."""
    return x.hand != item and x.hatch != item and not (x.bowl >> (item - 1)) & 1


def remaining(m: Any, recipe: int, x: Any) -> float:
    """The fewest actions that the cook has left without help."""
    hand = m.slot[recipe, x.hand]
    if x.hand != NOTHING and hand == NOTHING:
        hand = m.longest + 1  # something that this recipe does not need
    return m.to_go[recipe, x.cell, m.slot[recipe, x.open], hand, m.slot[recipe, x.hatch], m.packed[recipe, x.bowl]]


def cook(m: Any, recipe: int, x: Any, c: int) -> bool:
    """Carry out the cook's action c in x, and return whether it is possible."""
    if c < USE:
        x.cell = m.neighbour[x.cell, c]
        return x.cell >= 0
    item = m.station[x.cell]
    if item > m.items:  # at the counter
        item = x.hand
        if x.hand == NOTHING:
            item, x.hatch = x.hatch, NOTHING
            if m.slot[recipe, item] == NOTHING:
                return False
        x.hand = NOTHING
        x.bowl |= 1 << (item - 1)
        return True
    if item == NOTHING or x.hand != NOTHING or m.slot[recipe, item] == NOTHING or not stored(x, item):
        return False
    if x.open == item:
        x.hand, x.open = item, NOTHING
    else:
        x.open = item
    return True
