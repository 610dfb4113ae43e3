"""Battleship's board as text and as a Matplotlib picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pomdplite.compile.jit import Floats

if TYPE_CHECKING:
    from pomdplite.problems.battleship.rules import Battleship


def draw_board(model: "Battleship", x: Any, marginals: list[Floats]) -> str:
    """Draw the board: ● hit, ○ miss, otherwise the probability of a ship in percent."""
    lines = ["    " + "".join(f"{chr(97 + col):>4}" for col in range(model.size))]
    for row in range(model.size):
        cells = []
        for col in range(model.size):
            cell = row * model.size + col
            text = f"{100 * marginals[0][cell]:.0f}" if marginals else "·"
            cells.append(f"{_mark(x, cell) or text:>4}")
        lines.append(f"{row + 1:>4}" + "".join(cells))
    return "\n".join(lines)


def paint_board(model: "Battleship", axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the belief as a heat map, with hits and misses marked."""
    n = model.size
    heat = marginals[0].reshape(n, n) if marginals else np.zeros((n, n))
    axes.imshow(heat, cmap="Blues", vmin=0, vmax=max(0.5, float(heat.max())))
    for cell in range(n * n):
        row, col = divmod(cell, n)
        mark = _mark(x, cell)
        if mark:
            axes.plot([col], [row], "o", ms=120 / n, mec="black", color="#d62728" if mark == "●" else "white")
        elif heat[row, col] >= 0.005:
            ink = "white" if heat[row, col] > 0.6 else "0.25"
            text = f"{100 * heat[row, col]:.0f}"
            axes.text(col, row, text, ha="center", va="center", fontsize=70 / n, color=ink)
    axes.set_xticks(range(n), [chr(97 + col) for col in range(n)])
    axes.set_yticks(range(n), [str(row + 1) for row in range(n)])
    axes.tick_params(length=0)


def _mark(x: Any, cell: int) -> str | None:
    word, bit = divmod(cell, 64)
    if not (int(x.fired[word]) >> bit) & 1:
        return None
    return "●" if (int(x.hits[word]) >> bit) & 1 else "○"
