"""SVG drawings: linear and logarithmic scales with round ticks, and a canvas with the shapes that figures need.

Shapes carry CSS classes instead of colours, so that the style sheet of the page decides: a planner's class sets the
current colour, and a dark page needs no second drawing.
"""

import math
from collections.abc import Sequence
from xml.etree import ElementTree


class Scale:
    """Maps numbers to positions between `start` and `end` on the canvas."""

    def __init__(
        self, values: Sequence[float], start: float, end: float, *, log: bool = False, pad: float = 0.05,
        bottom: float | None = None,
    ) -> None:  # fmt: skip
        self.log = log
        a, b = self._at(min(values) if bottom is None else bottom), self._at(max(values))
        if b - a < 1e-12 * max(1.0, abs(a), abs(b)):
            a, b = a - 0.5, b + 0.5
        margin = pad * (b - a)
        self._low, self._high, self._start, self._end = a - margin * (bottom is None), b + margin, start, end

    def __call__(self, value: float) -> float:
        """The position of a number."""
        return self._start + (self._at(value) - self._low) / (self._high - self._low) * (self._end - self._start)

    def _at(self, value: float) -> float:
        """Where a number is on the scale, whatever its place on the canvas."""
        return math.log10(value) if self.log else value

    def ticks(self, most: int = 6) -> list[float]:
        """Round numbers within the scale."""
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


class SignedLogScale(Scale):
    """A logarithmic scale in both directions from 0, around which it is linear: asinh(value / width)."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, width: float) -> None:
        self.width = width
        super().__init__(values, start, end)

    def _at(self, value: float) -> float:
        return math.asinh(value / self.width)

    def ticks(self, most: int = 6) -> list[float]:
        """0 and powers of ten on either side."""
        ends = [self.width * math.sinh(end) for end in (self._low, self._high)]
        largest = max(map(abs, ends))
        powers = range(math.ceil(math.log10(self.width)), math.floor(math.log10(max(largest, self.width))) + 1)
        both = [sign * 10.0**k for k in powers for sign in (-1, 1) if ends[0] <= sign * 10.0**k <= ends[1]]
        both = [v for v in both if round(math.log10(abs(v))) % (1 + len(both) // (most + 1)) == 0]
        return sorted([0.0, *both]) if ends[0] <= 0 <= ends[1] else sorted(both)


def tick_text(value: float) -> str:
    """A number as a tick label."""
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("-", "−")
    return f"{round(value, 10):,g}".replace("-", "−")


class Canvas:
    """An SVG drawing of `width` × `height` units; a unit is about one pixel.

    Each shape takes the CSS classes `style`, and some a `tooltip` that appears while the pointer is over them.
    """

    def __init__(self, width: float, height: float, description: str) -> None:
        self.width, self.height = width, height
        size = {"viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}"}
        self._root = ElementTree.Element("svg", {**size, "role": "img", "aria-label": description})

    def line(self, x1: float, y1: float, x2: float, y2: float, style: str) -> None:
        """A straight line."""
        self._add("line", style, x1=x1, y1=y1, x2=x2, y2=y2)

    def rect(self, x: float, y: float, width: float, height: float, style: str, tooltip: str = "") -> None:
        """A filled rectangle."""
        self._add("rect", style, tooltip, x=x, y=y, width=width, height=height)

    def path(self, points: Sequence[tuple[float, float]], style: str, *, closed: bool = False) -> None:
        """A line through the points, or the area inside them."""
        self._add("path", style, d=_path(points, closed))

    def text(self, x: float, y: float, text: str, style: str, *, anchor: str = "start", tooltip: str = "") -> None:
        """A line of text with its baseline at y."""
        element = self._add("text", style, x=x, y=y, text_anchor=anchor)
        _write(element, text, tooltip)

    def vertical_text(self, x: float, y: float, text: str, style: str) -> None:
        """Text that reads upwards, centred at (x, y)."""
        turned = f"translate({x:.1f} {y:.1f}) rotate(-90)"
        self._add("text", style, transform=turned, text_anchor="middle").text = text

    def marker(self, x: float, y: float, number: int, style: str, tooltip: str = "") -> None:
        """The marker of the planner with this number."""
        corners = _MARKERS[number % len(_MARKERS)]
        if corners is None:
            self._add("circle", style, tooltip, cx=x, cy=y, r=4)
        else:
            self._add("path", style, tooltip, d=_path([(x + dx, y + dy) for dx, dy in corners], closed=True))

    def svg(self) -> str:
        """The drawing as an <svg> element."""
        return ElementTree.tostring(self._root, encoding="unicode")

    def _add(self, tag: str, style: str, tooltip: str = "", **attributes: float | str) -> ElementTree.Element:
        texts = {
            name.replace("_", "-"): value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
            for name, value in attributes.items()
        }
        element = ElementTree.SubElement(self._root, tag, {"class": style, **texts})
        _write(element, "", tooltip)
        return element


def _write(element: ElementTree.Element, text: str, tooltip: str) -> None:
    """Give the element its text, after a <title> if there is a tooltip."""
    if tooltip:
        title = ElementTree.SubElement(element, "title")
        title.text, title.tail = tooltip, text
    elif text:
        element.text = text


def _path(points: Sequence[tuple[float, float]], closed: bool) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in points) + ("Z" if closed else "")


# Corners relative to the centre; None is a circle.
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
