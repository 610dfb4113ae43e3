"""Small drawings as SVG text: scales with round ticks, and a canvas with the few shapes that figures are made of.

Colours are the page's: shapes carry classes, and a planner's class sets the current colour.
"""

import math
from collections.abc import Sequence
from html import escape

_LOG_RATIO = 20.0  # positive values that span more are drawn on a logarithmic scale


class Scale:
    """Maps numbers to a stretch of the canvas."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, log: bool = False, pad: float = 0.05):
        low, high = min(values), max(values)
        self.log = log
        a, b = (math.log10(low), math.log10(high)) if log else (low, high)
        if b - a < 1e-12 * max(1.0, abs(a), abs(b)):
            a, b = a - 0.5, b + 0.5
        margin = pad * (b - a)
        self._low, self._high, self._start, self._end = a - margin, b + margin, start, end

    def __call__(self, value: float) -> float:
        """Where a number lies."""
        at = math.log10(value) if self.log else value
        return self._start + (at - self._low) / (self._high - self._low) * (self._end - self._start)

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers on the scale."""
        if self.log:
            steps = (1,) if self._high - self._low > 2.5 else (1, 2, 5)
            powers = range(math.floor(self._low), math.ceil(self._high) + 1)
            found = [s * 10.0**k for k in powers for s in steps if self._low <= math.log10(s * 10.0**k) <= self._high]
            return found[:: 1 + len(found) // (most + 1)]
        raw = (self._high - self._low) / most
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(s * power for s in (1, 2, 2.5, 5, 10) if s * power >= raw * (1 - 1e-9))
        first, last = math.ceil(self._low / step), math.floor(self._high / step)
        return [k * step for k in range(first, last + 1)]


def spans_decades(values: Sequence[float]) -> bool:
    """Whether these numbers belong on a logarithmic scale."""
    return min(values) > 0 and max(values) / min(values) > _LOG_RATIO


def tick_text(value: float) -> str:
    """A number beside an axis."""
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    return f"{round(value, 10):,g}".replace("-", "−")


class Canvas:
    """An SVG drawing, `width` × `height` units; a unit is about a pixel."""

    def __init__(self, width: float, height: float, description: str) -> None:
        self.width, self.height, self._description = width, height, description
        self._parts: list[str] = []

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self._parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str, about: str = "") -> None:
        """A filled rectangle; `about` is shown when pointed at."""
        place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        self._parts.append(f'<rect class="{kind}" {place}>{_about(about)}</rect>')

    def path(self, points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> None:
        """A line through points, or the area within them."""
        d = "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) + ("Z" if closed else "")
        self._parts.append(f'<path class="{kind}" d="{d}"/>')

    def text(self, x: float, y: float, text: str, kind: str, *, anchor: str = "start", about: str = "") -> None:
        """A line of text on the baseline y."""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self._parts.append(f'<text class="{kind}" {place}>{_about(about)}{escape(text)}</text>')

    def upright(self, x: float, y: float, text: str, kind: str) -> None:
        """Text that reads upwards, centred at (x, y)."""
        turned = f'transform="translate({x:.1f} {y:.1f}) rotate(-90)" text-anchor="middle"'
        self._parts.append(f'<text class="{kind}" {turned}>{escape(text)}</text>')

    def marker(self, x: float, y: float, number: int, kind: str, about: str = "") -> None:
        """The marker of the planner with this number."""
        corners = _MARKERS[number % len(_MARKERS)]
        if corners is None:
            self._parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4">{_about(about)}</circle>')
            return
        d = "M" + "L".join(f"{x + dx:.1f},{y + dy:.1f}" for dx, dy in corners) + "Z"
        self._parts.append(f'<path class="{kind}" d="{d}">{_about(about)}</path>')

    def svg(self) -> str:
        """The drawing as an element of a page."""
        box = f'viewBox="0 0 {self.width:g} {self.height:g}" width="{self.width:g}" height="{self.height:g}"'
        return f'<svg {box} role="img" aria-label="{escape(self._description)}">{"".join(self._parts)}</svg>'


def _about(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""


# Corners around the middle; None is a circle.
_MARKERS: tuple[tuple[tuple[float, float], ...] | None, ...] = (
    None,
    ((-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)),
    ((0, -4.6), (4.4, 3.2), (-4.4, 3.2)),
    ((0, -5), (5, 0), (0, 5), (-5, 0)),
    ((0, 4.6), (4.4, -3.2), (-4.4, -3.2)),
    ((-4.6, 0), (3.2, -4.4), (3.2, 4.4)),
    ((-1.6, -4.6), (1.6, -4.6), (1.6, -1.6), (4.6, -1.6), (4.6, 1.6), (1.6, 1.6), (1.6, 4.6), (-1.6, 4.6), (-1.6, 1.6),
     (-4.6, 1.6), (-4.6, -1.6), (-1.6, -1.6)),
    ((4.6, 0), (-3.2, -4.4), (-3.2, 4.4)),
    ((-4.4, -2.4), (0, -5), (4.4, -2.4), (2.8, 4), (-2.8, 4)),
)  # fmt: skip
