"""Battleship(n, k) (Silver and Veness 2010): find and sink k ships of lengths k + 1, …, 2 on an n × n board.

Boards are bitboards, cell = row · n + column in words of 64 bits. The prior is uniform over valid boards, drawn
exactly: all ships are placed independently and the whole board is drawn again if two overlap or touch, also diagonally.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Population, State
from pomdplite.rng import uniform

MISS, HIT = range(2)
TAKEN, MISSED, UNEXPLAINED = range(3)
TWO_AT_ONCE = 0.3  # share of moves that take two ships at once
COLDNESS = 3.0  # of repairs: how much a disagreement counts
_MOST_TRIES = 200_000  # placements tried before the ships are said not to fit


class Battleship(Model):
    """Fire at cells until every ship is sunk: −1 a shot, + n² for the last hit. Ships do not touch, nor diagonally."""

    observations = ("miss", "hit")
    discount = 1.0
    beta = 1.0
    exploration = 1.0
    search_depth = 1  # with the belief frozen, the order of later shots makes no difference, and γ is 1

    def __init__(self, size: int = 10, ships: int = 5) -> None:
        lengths = list(range(ships + 1, 1, -1))
        if size > 60:
            raise UsageError(f"Battleship({size}, {ships}): boards have up to 60 rows.")
        if ships < 1 or size < 2 or lengths[0] > size:
            raise UsageError(f"Battleship({size}, {ships}): the longest ship has {ships + 1} cells, the board {size}.")
        words = -(-size * size // 64)
        self.size, self.ships = size, ships
        self.total = sum(lengths)
        self.horizon = size * size
        self.return_range = size * size / 4
        self.places = np.array([2 * size * (size - length + 1) for length in lengths])  # [ship] number of placements
        most = int(self.places.max())
        self.cells = np.zeros((ships, most, words), np.uint64)  # [ship, place, word] cells of a placement
        self.halo = np.zeros((ships, most, words), np.uint64)  # ... and all cells that touch it
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
                                    self.halo[ship, place, word] |= np.uint64(1 << bit)
                                    if side == 0 and 0 <= i < length:
                                        self.cells[ship, place, word] |= np.uint64(1 << bit)
                        place += 1
        cells = np.arange(64 * words)
        self.inside = _bitboard(cells < size * size)  # masks that keep a shift from running over an edge
        self.not_first = _bitboard((cells < size * size) & (cells % size != 0))  # cells that have one to their left
        self.not_last = _bitboard((cells < size * size) & (cells % size != size - 1))
        self.memory = State(corners=(np.uint64, words))
        self.state = State(fired=(np.uint64, words), hits=(np.uint64, words), left=np.int64)
        self.hidden = Population(board=(np.uint64, words), place=(np.int64, ships))
        self.actions = tuple(f"{chr(97 + cell % size)}{cell // size + 1}" for cell in range(size * size))
        self.summary_size = size * size
        _check_fits(self)

    def start(self, x: Any) -> None:
        x.left = self.total

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        word, bit = a // 64, np.uint64(1) << np.uint64(a % 64)
        y.fired[word] |= bit
        if theta.board[word] & bit:
            y.hits[word] |= bit
            y.left -= 1

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        z[HIT if (theta.board[a // 64] >> np.uint64(a % 64)) & np.uint64(1) else MISS] = 1.0

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        hit = (theta.board[a // 64] >> np.uint64(a % 64)) & np.uint64(1)
        return float(m.size * m.size - 1) if hit and x.left == 1 else -1.0

    def legal(m: Any, x: Any, a: int) -> bool:
        return not (x.fired[a // 64] >> np.uint64(a % 64)) & np.uint64(1)

    def terminal(m: Any, x: Any) -> bool:
        return x.left == 0

    def prior(m: Any, theta: Any, random: Any) -> None:
        while True:  # about one board in thirty is valid on the published sizes
            valid = True
            for ship in range(m.ships):
                theta.place[ship] = int(uniform(random) * m.places[ship])
                for other in range(ship):
                    if touches(m, ship, theta.place[ship], other, theta.place[other]):
                        valid = False
                if not valid:
                    break
            if valid:
                break
        for word in range(theta.board.shape[0]):
            theta.board[word] = 0
            for ship in range(m.ships):
                theta.board[word] |= m.cells[ship, theta.place[ship], word]

    def move(m: Any, x: Any, theta: Any, random: Any) -> bool:
        if not agrees(x, theta):
            return repair(m, x, theta, random)  # of no weight yet: any way to a board that agrees will do
        if m.ships > 1 and uniform(random) < TWO_AT_ONCE:
            return move_two(m, x, theta, random)
        ship = int(uniform(random) * m.ships)
        chosen, _ = draw_place(m, surroundings(m, x, theta, ship, -1, True), ship, random)
        return put(m, theta, ship, chosen)

    def summary(m: Any, theta: Any, f: Any) -> None:
        for cell in range(m.size * m.size):
            f[cell] = float((theta.board[cell // 64] >> np.uint64(cell % 64)) & np.uint64(1))

    def heuristic(m: Any, x: Any) -> float:
        """Every cell that is left costs as many shots as blind firing takes. It must not be less than what it really
        costs, or actions that were not looked at yet seem better than those that were."""
        return m.size * m.size * (1.0 - x.left / m.total)

    def upper(m: Any, x: Any, theta: Any) -> float:
        return float(m.size * m.size - x.left)  # no shot misses

    def preferred(m: Any, x: Any, h: Any, f: Any) -> None:
        """Silver and Veness's knowledge: not diagonally beside a hit, where no ship can be."""
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
        """The first cell beside a hit, else the first where a ship may be."""
        open_cell = any_cell = -1
        for word in range(x.fired.shape[0]):
            free = m.inside[word] & ~x.fired[word]
            promising = free & ~corners(m, x.hits, word)
            beside = promising & sides(m, x.hits, word)
            if beside:
                return 64 * word + lowest(beside)
            if promising and open_cell < 0:
                open_cell = 64 * word + lowest(promising)
            if free and any_cell < 0:
                any_cell = 64 * word + lowest(free)
        return open_cell if open_cell >= 0 else any_cell

    def success(self, x: Any, theta: Any) -> bool:
        """Every ship is sunk."""
        return bool(x.left == 0)

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """The board: ● hit, ○ miss, else the probability of a ship in percent."""
        lines = ["    " + "".join(f"{chr(97 + col):>4}" for col in range(self.size))]
        for row in range(self.size):
            cells = []
            for col in range(self.size):
                cell = row * self.size + col
                text = f"{100 * marginals[0][cell]:.0f}" if marginals else "·"
                cells.append(f"{_mark(x, cell) or text:>4}")
            lines.append(f"{row + 1:>4}" + "".join(cells))
        return "\n".join(lines)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """The board: the belief as a heat map, hits and misses marked."""
        n = self.size
        heat = marginals[0].reshape(n, n) if marginals else np.zeros((n, n))
        axes.imshow(heat, cmap="Blues", vmin=0, vmax=max(0.5, float(heat.max())))
        for cell in range(n * n):
            mark = _mark(x, cell)
            if mark:
                axes.plot(
                    [cell % n], [cell // n], "o", ms=120 / n, mec="black", color="#d62728" if mark == "●" else "white"
                )
            elif heat[cell // n, cell % n] >= 0.005:
                ink = "white" if heat[cell // n, cell % n] > 0.6 else "0.25"
                text = f"{100 * heat[cell // n, cell % n]:.0f}"
                axes.text(cell % n, cell // n, text, ha="center", va="center", fontsize=70 / n, color=ink)
        axes.set_xticks(range(n), [chr(97 + col) for col in range(n)])
        axes.set_yticks(range(n), [str(row + 1) for row in range(n)])
        axes.tick_params(length=0)


def shifted(board: Any, word: int, by: int) -> Any:
    """A word of the bitboard with every cell moved on by so many, or back if that is negative."""
    moved = np.uint64(0)
    if by > 0:
        moved = board[word] << np.uint64(by)
        if word > 0:
            moved |= board[word - 1] >> np.uint64(64 - by)
    else:
        moved = board[word] >> np.uint64(-by)
        if word + 1 < board.shape[0]:
            moved |= board[word + 1] << np.uint64(64 + by)
    return moved


def sides(m: Any, board: Any, word: int) -> Any:
    """Cells beside those of a board; a word of them."""
    right, left = shifted(board, word, 1) & m.not_first[word], shifted(board, word, -1) & m.not_last[word]
    return right | left | shifted(board, word, m.size) | shifted(board, word, -m.size)


def corners(m: Any, board: Any, word: int) -> Any:
    """Cells diagonally beside those of a board, where no ship can be if the board holds hits; a word of them."""
    right = shifted(board, word, m.size + 1) | shifted(board, word, 1 - m.size)
    left = shifted(board, word, m.size - 1) | shifted(board, word, -1 - m.size)
    return (right & m.not_first[word]) | (left & m.not_last[word])


def lowest(word: Any) -> int:
    """The number of the lowest bit that is set."""
    return ones((word & (~word + np.uint64(1))) - np.uint64(1))


def touches(m: Any, ship: int, place: int, other: int, other_place: int) -> bool:
    """Whether two placements overlap or touch."""
    for word in range(m.cells.shape[2]):
        if m.cells[ship, place, word] & m.halo[other, other_place, word]:
            return True
    return False


def agrees(x: Any, theta: Any) -> bool:
    """Whether a board explains every hit and every miss."""
    for word in range(theta.board.shape[0]):
        if theta.board[word] & (x.fired[word] & ~x.hits[word]) or x.hits[word] & ~theta.board[word]:
            return False
    return True


def surroundings(m: Any, x: Any, theta: Any, ship: int, without: int, explain: bool) -> Any:
    """What a ship must fit, the others (but one) where they are: [TAKEN, MISSED, UNEXPLAINED] cells."""
    must = np.zeros((3, theta.board.shape[0]), np.uint64)
    for word in range(theta.board.shape[0]):
        must[MISSED, word] = x.fired[word] & ~x.hits[word]
        must[UNEXPLAINED, word] = x.hits[word] if explain else np.uint64(0)
        for other in range(m.ships):
            if other not in (ship, without):
                must[TAKEN, word] |= m.halo[other, theta.place[other], word]
                must[UNEXPLAINED, word] &= ~m.cells[other, theta.place[other], word]
    return must


def fits(m: Any, must: Any, ship: int, place: int) -> bool:
    """Whether a ship may be at a place: no miss, no touching, hits explained."""
    for word in range(must.shape[1]):
        cells = m.cells[ship, place, word]
        if cells & (must[TAKEN, word] | must[MISSED, word]) or must[UNEXPLAINED, word] & ~cells:
            return False
    return True


def count_places(m: Any, must: Any, ship: int) -> int:
    """How many places fit."""
    count = 0
    for place in range(m.places[ship]):
        if fits(m, must, ship, place):
            count += 1
    return count


def draw_place(m: Any, must: Any, ship: int, random: Any) -> tuple[int, int]:
    """A place that fits, each equally likely, -1 if there is none; and how many there are."""
    count = count_places(m, must, ship)
    left = int(uniform(random) * count)
    for place in range(m.places[ship] if count else 0):
        if fits(m, must, ship, place):
            if left == 0:
                return place, count
            left -= 1
    return -1, count


def put(m: Any, theta: Any, ship: int, place: int) -> bool:
    """Put a ship somewhere; whether that is a change."""
    if place < 0 or place == theta.place[ship]:
        return False
    theta.place[ship] = place
    for word in range(theta.board.shape[0]):
        theta.board[word] = 0
        for other in range(m.ships):
            theta.board[word] |= m.cells[other, theta.place[other], word]
    return True


def move_two(m: Any, x: Any, theta: Any, random: Any) -> bool:
    """Take two ships out; put the first back anywhere it may lie, the second so that all is explained.

    Metropolis and Hastings: the first is drawn from a set that does not depend on where the two were, the second from
    one of n places where the way back would have had n₀, so the step is taken with probability n / n₀. It crosses
    between boards on which two ships explain each other's hits, which no single ship can.
    """
    one = int(uniform(random) * m.ships)
    two = int(uniform(random) * (m.ships - 1))
    if two >= one:
        two += 1
    old_one, old_two = theta.place[one], theta.place[two]
    before = count_places(m, surroundings(m, x, theta, two, -1, True), two)
    new_one, _ = draw_place(m, surroundings(m, x, theta, one, two, False), one, random)
    theta.place[one] = new_one
    new_two, after = draw_place(m, surroundings(m, x, theta, two, -1, True), two, random)
    theta.place[one] = old_one
    if new_two < 0 or uniform(random) * before >= after:
        return False
    changed = put(m, theta, one, new_one)
    return put(m, theta, two, new_two) or changed or old_two != new_two


def repair(m: Any, x: Any, theta: Any, random: Any) -> bool:
    """Put one ship where it disagrees with few shots: one shot more is e^COLDNESS times less likely.

    Gibbs moves on a softened posterior: a board that is nearly right gets right, and dead ends are left again.
    """
    ship = int(uniform(random) * m.ships)
    must = surroundings(m, x, theta, ship, -1, True)
    total, chosen = 0.0, -1
    for place in range(m.places[ship]):
        wrong, touching = 0, False
        for word in range(must.shape[1]):
            cells = m.cells[ship, place, word]
            touching = touching or (cells & must[TAKEN, word]) != 0
            wrong += ones(cells & must[MISSED, word]) + ones(must[UNEXPLAINED, word] & ~cells)
        if touching:
            continue
        weight = np.exp(-COLDNESS * wrong)
        total += weight
        if uniform(random) * total < weight:
            chosen = place
    return put(m, theta, ship, chosen)


def ones(word: Any) -> int:
    """The number of bits that are set: counted in pairs, in fours, in bytes, and added up."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    count = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    count += count >> np.uint64(8)
    count += count >> np.uint64(16)
    count += count >> np.uint64(32)
    return int(count & np.uint64(0x7F))


def _bitboard(cells: Any) -> Any:
    """The words of a board given as one truth value for each cell."""
    bits = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    return np.array([bits[row].sum(dtype=np.uint64) for row in cells.reshape(-1, 64)], np.uint64)


def _mark(x: Any, cell: int) -> str | None:
    word, bit = divmod(cell, 64)
    if not (int(x.fired[word]) >> bit) & 1:
        return None
    return "●" if (int(x.hits[word]) >> bit) & 1 else "○"


def _check_fits(model: Battleship) -> None:
    """Refuse boards on which the ships cannot all be placed: prior would draw for ever."""

    def whole(words: Any) -> int:
        return sum(int(word) << (64 * i) for i, word in enumerate(words))

    masks = [
        [(whole(model.cells[ship, p]), whole(model.halo[ship, p])) for p in range(int(model.places[ship]))]
        for ship in range(model.ships)
    ]
    tries = 0

    def place(ship: int, taken: int) -> bool:
        nonlocal tries
        if ship == model.ships:
            return True
        for cells, halo in masks[ship]:
            tries += 1
            if tries > _MOST_TRIES:
                return False
            if not cells & taken and place(ship + 1, taken | halo):
                return True
        return False

    if not place(0, 0):
        raise UsageError(
            f"Battleship({model.size}, {model.ships}): the ships do not fit on the board without touching."
        )
