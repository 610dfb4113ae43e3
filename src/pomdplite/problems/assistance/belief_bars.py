"""A belief over goals as bars, in text and in a picture."""

from collections.abc import Sequence
from typing import Any

from pomdplite.compile.jit import Floats

_BAR = 24  # characters of a probability of 1
_SHOWN = 10  # goals, the most probable ones
BLUE, DARK, PALE = "#1f5fbf", "#454b57", "#e9edf3"


def _likeliest(names: Sequence[str], belief: Floats) -> list[tuple[str, float]]:
    """The goals to show: all of them in their own order if they are few, else the most probable ones."""
    pairs = [(name, float(p)) for name, p in zip(names, belief, strict=True)]
    return pairs if len(pairs) <= _SHOWN else sorted(pairs, key=lambda pair: -pair[1])[:_SHOWN]


def bar_lines(names: Sequence[str], belief: Floats) -> list[str]:
    """One line per goal: its name, a bar, and its probability."""
    shown = _likeliest(names, belief)
    width = max(len(name) for name, _ in shown)
    lines = [f"{name:{width}}  {'█' * round(_BAR * p):{_BAR}}  {100 * p:5.1f} %" for name, p in shown]
    rest = len(names) - len(shown)
    return lines + ([f"{'':{width}}  and {rest} more"] if rest else [])


def paint_bars(axes: Any, names: Sequence[str], belief: Floats) -> None:
    """Horizontal bars, the first goal at the top."""
    shown = _likeliest(names, belief)[::-1]
    axes.barh(range(len(shown)), [p for _, p in shown], color=BLUE, height=0.7)
    axes.set_yticks(range(len(shown)), [name for name, _ in shown], fontsize=7)
    axes.set(xlim=(0, 1), xticks=(0, 0.5, 1))
    axes.tick_params(length=0, axis="y")
    axes.tick_params(labelsize=7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
