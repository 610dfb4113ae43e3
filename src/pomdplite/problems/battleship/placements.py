"""Every placement of every ship as a bitboard, and a check that the ships fit on the board together."""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.errors import UsageError

_MAX_TRIES = 200_000  # placements tried before the ships are declared not to fit


class Placements(NamedTuple):
    """The placements of each ship."""

    count: Any  # [ship] number of placements
    cells: Any  # [ship, place, word] cells of a placement
    halo: Any  # [ship, place, word] cells of a placement and all cells that touch them


def all_placements(size: int, lengths: list[int]) -> Placements:
    """List the placements of ships of these lengths, horizontal ones first, row by row."""
    count = np.array([2 * size * (size - length + 1) for length in lengths])
    shape = (len(lengths), int(count.max()), -(-size * size // 64))
    cells, halo = np.zeros(shape, np.uint64), np.zeros(shape, np.uint64)
    for ship, length in enumerate(lengths):
        place = 0
        for down in (0, 1):
            for row in range(size - (length - 1) * down):
                for col in range(size - (length - 1) * (1 - down)):
                    for i in range(-1, length + 1):
                        for side in (-1, 0, 1):
                            r, c = (row + i, col + side) if down else (row + side, col + i)
                            if 0 <= r < size and 0 <= c < size:
                                word, bit = divmod(r * size + c, 64)
                                halo[ship, place, word] |= np.uint64(1 << bit)
                                if side == 0 and 0 <= i < length:
                                    cells[ship, place, word] |= np.uint64(1 << bit)
                    place += 1
    return Placements(count=count, cells=cells, halo=halo)


def check_fit(placements: Placements, title: str) -> None:
    """Reject boards that cannot hold all ships, on which sampling the prior would never end."""

    def as_integer(words: Any) -> int:
        return sum(int(word) << (64 * i) for i, word in enumerate(words))

    ships = len(placements.count)
    masks = [
        [
            (as_integer(placements.cells[ship, place]), as_integer(placements.halo[ship, place]))
            for place in range(int(placements.count[ship]))
        ]
        for ship in range(ships)
    ]
    tries = 0

    def fit_from(ship: int, taken: int) -> bool:
        nonlocal tries
        if ship == ships:
            return True
        for cells, halo in masks[ship]:
            tries += 1
            if tries > _MAX_TRIES:
                return False
            if not cells & taken and fit_from(ship + 1, taken | halo):
                return True
        return False

    if not fit_from(0, 0):
        raise UsageError(f"{title}: the ships do not fit on the board without touching.")
