"""Bitboards: one bit per cell, cell = row · n + column, in words of 64 bits.

Each function computes one word of its result, so that compiled model functions allocate nothing.
"""

from typing import Any

import numpy as np


def bitboard(cells: Any) -> Any:
    """Pack one truth value per cell into words."""
    bits = np.left_shift(np.uint64(1), np.arange(64, dtype=np.uint64))
    return np.array([bits[row].sum(dtype=np.uint64) for row in cells.reshape(-1, 64)], np.uint64)


def contains(board: Any, cell: int) -> Any:
    """Return the bit of a cell."""
    return (board[cell // 64] >> np.uint64(cell % 64)) & np.uint64(1)


def shifted(board: Any, word: int, by: int) -> Any:
    """Shift every cell forward by `by` places, or back if `by` is negative."""
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
    """Cells that share an edge with a cell of the board."""
    right, left = shifted(board, word, 1) & m.not_first[word], shifted(board, word, -1) & m.not_last[word]
    return right | left | shifted(board, word, m.size) | shifted(board, word, -m.size)


def corners(m: Any, board: Any, word: int) -> Any:
    """Cells diagonally adjacent to a cell of the board. If the board holds hits, no ship can be there."""
    right = shifted(board, word, m.size + 1) | shifted(board, word, 1 - m.size)
    left = shifted(board, word, m.size - 1) | shifted(board, word, -1 - m.size)
    return (right & m.not_first[word]) | (left & m.not_last[word])


def lowest_bit(word: Any) -> int:
    """Return the index of the lowest set bit."""
    return count_bits((word & (~word + np.uint64(1))) - np.uint64(1))


def count_bits(word: Any) -> int:
    """Count the set bits: first in pairs, then in fours, then in bytes, which are summed."""
    pairs = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + ((pairs >> np.uint64(2)) & np.uint64(0x3333333333333333))
    count = (fours + (fours >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    count += count >> np.uint64(8)
    count += count >> np.uint64(16)
    count += count >> np.uint64(32)
    return int(count & np.uint64(0x7F))
