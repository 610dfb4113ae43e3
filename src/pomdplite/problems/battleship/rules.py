"""Battleship(n, k) (Silver and Veness 2010): find and sink k ships of lengths k + 1, …, 2 on an n × n board.

The prior is uniform over all boards on which no two ships overlap or touch, not even diagonally.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Population, State
from pomdplite.problems.battleship.bitboards import bitboard, contains, corners, lowest_bit, sides
from pomdplite.problems.battleship.drawing import draw_board, paint_board
from pomdplite.problems.battleship.moves import move_board, sample_board
from pomdplite.problems.battleship.placements import all_placements, check_fit

MISS, HIT = range(2)


class Battleship(Model):
    """Fire at cells until every ship is sunk: −1 per shot, +n² for the last hit. No two ships touch."""

    observations = ("miss", "hit")
    discount = 1.0
    beta = 1.0
    exploration = 1.0
    search_depth = 1  # under a frozen belief and γ = 1, the order of later shots makes no difference

    def __init__(self, size: int = 10, ships: int = 5) -> None:
        title, lengths = f"Battleship({size}, {ships})", list(range(ships + 1, 1, -1))
        if size > 60:
            raise UsageError(f"{title}: a board has at most 60 rows.")
        if ships < 1:
            raise UsageError(f"{title}: there must be at least one ship.")
        if lengths[0] > size:
            raise UsageError(f"{title}: the longest ship has {lengths[0]} cells, but the board has only {size} rows.")
        placements = all_placements(size, lengths)
        check_fit(placements, title)
        self.size, self.ships = size, ships
        self.total = sum(lengths)
        self.horizon = size * size
        self.return_range = size * size / 4
        self.places, self.cells, self.halo = placements.count, placements.cells, placements.halo
        words = placements.cells.shape[2]
        cells = np.arange(64 * words)
        self.inside = bitboard(cells < size * size)
        self.not_first = bitboard((cells < size * size) & (cells % size != 0))  # all columns but the first
        self.not_last = bitboard((cells < size * size) & (cells % size != size - 1))
        self.memory = State(corners=(np.uint64, words))
        self.state = State(fired=(np.uint64, words), hits=(np.uint64, words), left=np.int64)
        self.hidden = Population(board=(np.uint64, words), place=(np.int64, ships))
        self.actions = tuple(f"{chr(97 + cell % size)}{cell // size + 1}" for cell in range(size * size))
        self.summary_size = size * size

    def start(self, x: Any) -> None:
        x.left = self.total

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        word, bit = a // 64, np.uint64(1) << np.uint64(a % 64)
        y.fired[word] |= bit
        if theta.board[word] & bit:
            y.hits[word] |= bit
            y.left -= 1

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        z[HIT if contains(theta.board, a) else MISS] = 1.0

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return float(m.size * m.size - 1) if contains(theta.board, a) and x.left == 1 else -1.0

    def legal(m: Any, x: Any, a: int) -> bool:
        return not contains(x.fired, a)

    def terminal(m: Any, x: Any) -> bool:
        return x.left == 0

    def success(self, x: Any, theta: Any) -> bool:
        """Every ship is sunk."""
        return bool(x.left == 0)

    # ------------------------------------------------------------------ beliefs

    def prior(m: Any, theta: Any, random: Any) -> None:
        sample_board(m, theta, random)

    def move(m: Any, x: Any, theta: Any, random: Any) -> bool:
        return move_board(m, x, theta, random)

    def summary(m: Any, theta: Any, f: Any) -> None:
        for cell in range(m.size * m.size):
            f[cell] = float(contains(theta.board, cell))

    # ------------------------------------------------------------------ hints for planners

    def heuristic(m: Any, x: Any) -> float:
        """Assume that every remaining ship cell costs as many shots as blind firing needs.

        The guess must not underestimate that cost, or untried actions look better than tried ones.
        """
        return m.size * m.size * (1.0 - x.left / m.total)

    def upper(m: Any, x: Any, theta: Any) -> float:
        return float(m.size * m.size - x.left)  # no shot misses

    def preferred(m: Any, x: Any, h: Any, f: Any) -> None:
        """Prefer cells that are not diagonally adjacent to a hit (Silver and Veness's domain knowledge)."""
        for word in range(x.fired.shape[0]):
            left, first = ~(x.fired[word] | h.corners[word]), 64 * word
            for bit in range(min(64, m.size * m.size - first)):
                f[first + bit] = float((left >> np.uint64(bit)) & np.uint64(1))

    def remember(m: Any, x: Any, a: int, y: Any, o: int, h: Any) -> None:
        if o == HIT:
            for corner in range(4):
                row, col = a // m.size + 2 * (corner // 2) - 1, a % m.size + 2 * (corner % 2) - 1
                if 0 <= row < m.size and 0 <= col < m.size:
                    cell = row * m.size + col
                    h.corners[cell // 64] |= np.uint64(1) << np.uint64(cell % 64)

    def policy(m: Any, x: Any, u: float) -> int:
        """Fire at the first cell beside a hit, else at the first that may hold a ship, else at the first left."""
        open_cell = any_cell = -1
        for word in range(x.fired.shape[0]):
            free = m.inside[word] & ~x.fired[word]
            promising = free & ~corners(m, x.hits, word)
            beside = promising & sides(m, x.hits, word)
            if beside:
                return 64 * word + lowest_bit(beside)
            if promising and open_cell < 0:
                open_cell = 64 * word + lowest_bit(promising)
            if free and any_cell < 0:
                any_cell = 64 * word + lowest_bit(free)
        return open_cell if open_cell >= 0 else any_cell

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_board(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_board(self, axes, x, marginals)
