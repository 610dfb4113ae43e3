"""Named RockSample maps: (size, rocks as (column, row)). The rover starts at column 0, row size // 2.

4-4, 7-8 and 11-11 are the maps that published POMDP solvers ship. The POMDP-lite paper does not give its maps for
15-15 and 20-20; these are the ones that the map generator of the POMCP code produces.
"""

from pomdplite.errors import UsageError
from pomdplite.rng import stream, uniform

MAPS: dict[str, tuple[int, list[tuple[int, int]]]] = {
    "4-4": (4, [(3, 1), (2, 1), (1, 3), (1, 0)]),
    "7-8": (7, [(2, 0), (0, 1), (3, 1), (6, 3), (2, 4), (3, 4), (5, 5), (1, 6)]),
    "11-11": (11, [(0, 3), (0, 7), (1, 8), (2, 4), (3, 3), (3, 8), (4, 3), (5, 8), (6, 1), (9, 3), (9, 9)]),
    "15-15": (15, [
        (1, 13), (10, 12), (10, 8), (12, 1), (1, 9), (7, 2), (4, 5), (1, 8), (6, 0), (1, 7), (8, 11), (9, 12), (5, 2),
        (13, 2), (10, 7),
    ]),
    "20-20": (20, [
        (6, 3), (15, 17), (15, 13), (12, 6), (1, 9), (7, 2), (19, 10), (6, 0), (16, 12), (8, 11), (9, 7), (10, 2),
        (3, 2), (15, 7), (2, 9), (18, 2), (7, 9), (16, 13), (2, 11), (13, 9),
    ]),
}  # fmt: skip


def random_rocks(size: int, count: int, seed: int) -> list[tuple[int, int]]:
    """Draw `count` different cells at random."""
    if not 0 < count <= size * size:
        raise UsageError(f"RockSample: {count} rocks do not fit on a {size} × {size} grid.")
    cells = list(range(size * size))
    random = stream(seed, size, count)
    chosen = [cells.pop(int(uniform(random) * len(cells))) for _ in range(count)]
    return [(cell % size, cell // size) for cell in chosen]
