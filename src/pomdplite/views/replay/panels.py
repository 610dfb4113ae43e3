"""How a page shows a belief: bars for a few values, columns or a heat map for many, intervals for numbers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.model.model import Model
from pomdplite.views.beliefs import BeliefPart, belief_parts

MOST_BARS = 12  # values of a component that are shown as bars
_MOST_SHARES = 40  # components with two values that are shown as a bar each
_PAIR = re.compile(r"\(\s*([-+\d.e]+)\s*,\s*([-+\d.e]+)\s*\)")
Truth = int | list[float] | None  # of a part: the number of the true value, or true numbers (views/beliefs.py)


@dataclass(frozen=True)
class BeliefPanel:
    """One panel: which parts of the belief it shows, and how.

    bars      the probability of each value of one component
    shares    of many components with the same two values, the probability of the second one
    columns   the probabilities of many numbers, as a chart
    heat      the probabilities of many values, or many means, as a heat map
    interval  a mean and its 95 % interval
    means     a few means
    """

    kind: str
    title: str
    parts: tuple[int, ...]  # of the belief, by number
    rows: tuple[str, ...] = ()  # names of what is shown
    columns: int = 0  # of a heat map
    order: tuple[int, ...] = ()  # in which a heat map shows its numbers, row by row
    low: float = 0.0  # ends of the scale
    high: float = 1.0

    def numbers(self, marginals: Sequence[Floats]) -> list[float]:
        """The numbers that the panel shows."""
        if self.kind == "shares":
            return [float(marginals[part][1]) for part in self.parts]
        numbers = marginals[self.parts[0]]
        return [float(number) for number in (numbers[list(self.order)] if self.order else numbers)]

    def truth(self, values: Sequence[Truth]) -> Any:
        """The true value: its number among the rows, or the true numbers; None if it is unknown."""
        if self.kind == "shares":
            return [values[part] for part in self.parts]
        value = values[self.parts[0]]
        if not self.order or value is None:
            return value
        return self.order.index(value) if isinstance(value, int) else [value[i] for i in self.order]

    def scaled(self, shown: Sequence[Sequence[float]]) -> "BeliefPanel":
        """The panel with a scale that holds all of these numbers, if it does not show probabilities."""
        if self.kind not in ("interval", "means") or not shown:
            return self
        values = np.concatenate([np.asarray(numbers, float) for numbers in shown])
        low, high = float(values.min()), float(values.max())
        margin = 0.04 * (high - low) or 0.5
        return replace(self, low=low - margin, high=high + margin)

    def layout(self) -> dict[str, Any]:
        """What the page needs to draw the panel, apart from its numbers."""
        return {
            "kind": self.kind, "title": self.title, "rows": self.rows, "columns": self.columns, "low": self.low,
            "high": self.high,
        }  # fmt: skip


def belief_panels(model: Model) -> list[BeliefPanel]:
    """The panels for a model's beliefs."""
    found: list[BeliefPanel] = []
    numbered = list(enumerate(belief_parts(model)))
    for labels, group in groupby(numbered, key=lambda item: item[1].labels):
        members = list(group)
        if len(labels) == 2 and 1 < len(members) <= _MOST_SHARES:
            names = tuple(part.name for _, part in members)
            fields = {name.partition("[")[0] for name in names}  # "rocks" for "rocks[3]"
            title = f"{f'{fields.pop()}: ' if len(fields) == 1 else ''}probability of {labels[1]}"
            found.append(BeliefPanel("shares", title, tuple(i for i, _ in members), names))
        else:
            found += [_panel(i, part, model) for i, part in members]
    return found


def _panel(number: int, part: BeliefPart, model: Model) -> BeliefPanel:
    if part.interval:
        return BeliefPanel("interval", part.name, (number,))
    if not part.labels:
        return _means(number, part, model)
    if len(part.labels) <= MOST_BARS:
        return BeliefPanel("bars", part.name, (number,), part.labels)
    if all(_is_number(label) for label in part.labels):
        return BeliefPanel("columns", part.name, (number,), part.labels)
    order, columns = _map_of_pairs(part.labels) or (tuple(range(len(part.labels))), _square(len(part.labels)))
    return BeliefPanel("heat", part.name, (number,), tuple(part.labels[i] for i in order), columns, order)


def _means(number: int, part: BeliefPart, model: Model) -> BeliefPanel:
    """The means of a model's summary, or of the numbers in one field of θ."""
    summary = part.name == "summary"
    size = model.summary_size if summary else int(np.prod(model.hidden.dtype[part.name].shape, dtype=int))
    title = "mean of the summary" if summary else f"mean of {part.name}"
    if size > MOST_BARS:
        return BeliefPanel("heat", title, (number,), columns=_square(size))
    return BeliefPanel("means", title, (number,), tuple(f"[{i}]" for i in range(size)) if size > 1 else (part.name,))


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def _square(count: int) -> int:
    """The columns of a map of so many values: a square if it can be one, otherwise somewhat wider than high."""
    side = round(count**0.5)
    return side if side * side == count else min(count, int(np.ceil((1.5 * count) ** 0.5)))


def _map_of_pairs(labels: Sequence[str]) -> tuple[tuple[int, ...], int] | None:
    """Values that are all places (across, up) of a grid, in the order of a map: their order, and the columns."""
    matches = [_PAIR.fullmatch(label) for label in labels]
    try:
        places = [(float(found[1]), float(found[2])) for found in matches if found is not None]
    except ValueError:
        return None
    across, up = sorted({x for x, _ in places}), sorted({y for _, y in places}, reverse=True)
    if len(places) != len(labels) or len(set(places)) != len(labels) or len(across) * len(up) != len(labels):
        return None
    return tuple(places.index((x, y)) for y in up for x in across), len(across)
