"""What the figures of the analysis show: lines, guides and captions, but nothing of how it looks."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pomdplite.analysis.findings import Findings
from pomdplite.analysis.suboptimal import CLOSE, HistoryStep

_LARGE = 1e6  # from here on numbers are written as powers of ten
_SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_BELOW = 3.0  # times smaller than the threshold, or
_FLOOR = 1e-3  # of the largest bonus, whichever is less: where the axis of bonuses ends
_FEWEST_VISITS = 12  # that are shown
LINEAR, LOG, SIGNED_LOG = "linear", "log", "signed log"


@dataclass(frozen=True)
class Line:
    """Points joined by a line, perhaps with a band around them."""

    label: str
    points: tuple[tuple[float, float], ...]
    colour: int
    band: tuple[tuple[float, float], ...] = ()  # (low, high) at each point
    dashed: bool = False
    markers: bool = False


@dataclass(frozen=True)
class Guide:
    """A straight line across the panel, with its label at one end."""

    label: str
    value: float
    vertical: bool = False


@dataclass(frozen=True)
class LinePanel:
    """Curves over one pair of axes."""

    name: str  # of its file
    title: str
    x_label: str
    y_label: str
    caption: str
    lines: tuple[Line, ...]
    guides: tuple[Guide, ...] = ()
    x_scale: str = LINEAR
    y_scale: str = LINEAR
    width: float = 1.0  # of the linear part of a signed logarithmic axis
    covered: tuple[float, ...] = ()  # by the y axis, whatever the lines need
    bottom: float | None = None  # where the y axis begins; a line that ends there leaves the picture

    @property
    def xs(self) -> list[float]:
        """All values on the x axis."""
        return [x for c in self.lines for x, _ in c.points] + [g.value for g in self.guides if g.vertical]

    @property
    def ys(self) -> list[float]:
        """All values on the y axis."""
        band = [v for c in self.lines for ends in c.band for v in ends]
        guides = [g.value for g in self.guides if not g.vertical]
        return [y for c in self.lines for _, y in c.points] + band + guides + list(self.covered)

    def marked(self, curve: Line) -> list[int]:
        """The numbers of the points that have a marker."""
        inside = (i for i, (_, y) in enumerate(curve.points) if self.bottom is None or y > self.bottom)
        return list(inside) if curve.markers else []

    def height_at(self, x: float) -> float:
        """The first curve at x, by its share of all points of the curve that are below."""
        xs, ys = zip(*self.lines[0].points, strict=True)
        return float(np.mean(np.array(ys) < np.interp(x, xs, ys)))


def panels(found: Findings) -> list[LinePanel]:
    """The figures, in the order of the paper."""
    bonus = [bonus_panel(found)] if found.bonuses and found.beta > 0 else []
    loss = [loss_panel(found)] if found.history.steps[0].optimal is not None else []
    return [*bonus, optimism_panel(found), known_panel(found), escape_panel(found), *loss]


def bonus_panel(found: Findings) -> LinePanel:
    """The mean bonus of some pairs by visits, with 1/n and the threshold of the known set."""
    largest = max(found.beta * float(p.complexity.bonus.largest[0]) for p in found.bonuses)
    floor = min(_FLOOR * largest, found.threshold / _BELOW)
    lines = []
    for i, pair in enumerate(found.bonuses):
        mean = np.maximum(found.beta * pair.complexity.bonus.mean, floor)
        until = int(np.argmax(mean <= floor)) if mean[-1] <= floor else len(mean)
        lines.append(Line(pair.label, _by_number(mean[: until + 1]), i, markers=True))
    visits = max(_FEWEST_VISITS, *(len(c.points) for c in lines))
    first = found.bonuses[0].complexity.bonus
    if np.any(first.largest > first.mean + 1e-9):
        worst = np.maximum(found.beta * first.largest[:visits], floor)
        lines.append(Line(f"{found.bonuses[0].label}, worst case", _by_number(worst), 0, dashed=True))
    height = max(first.mean[0], first.mean[-1] * (len(first.mean) - 1))  # through the last point if that is higher
    line = tuple((float(n), found.beta * float(height) / n) for n in range(1, visits))
    lines.append(Line("1/n", line, 6, dashed=True))
    return LinePanel(
        "bonus", "Bonus by visits", "visits of (s, a)", "bonus, in units of reward",
        "RB(b, s, a) after n visits of (s, a) from the prior, averaged over their outcomes (Definition 2); each pair "
        "stands for all with the same bonus. Below ε(1 − γ) a pair is known. Where a line leaves the picture, the "
        "bonus is smaller still, or 0.",
        tuple(lines), (Guide("ε(1 − γ)", found.threshold),), y_scale=LOG, bottom=floor,
    )  # fmt: skip


def optimism_panel(found: Findings) -> LinePanel:
    """Ṽ − V* at the prior against β."""
    ends = [(o.beta, o.least / o.unit, o.most / o.unit) for o in found.optimism]
    curve = Line(
        "Ṽ − V*", tuple((b, (low + high) / 2) for b, low, high in ends), 0, tuple((low, high) for _, low, high in ends)
    )
    marks = [Guide("|S|²|A|/(1 − γ)²", found.paper_beta, True)]
    said = "V* is known only to within the band, from probabilities drawn from the prior."
    if found.optimistic_beta is not None:
        marks.insert(0, Guide("γ/(2(1 − γ))", found.optimistic_beta, True))
        said = "To the right of γ/(2(1 − γ)) it is never below 0, whatever the model."
    if found.beta > 0:
        marks.insert(0, Guide("the planner's β", found.beta, True))
    return LinePanel(
        "optimism", "Value of optimism", "β, in units of reward", "Ṽ − V*, in ranges of rewards",
        f"Ṽ(b₀, s₀) − V*(b₀, s₀) against β (Lemma 3), from the planner's own β to the paper's order. {said}",
        (curve,), (Guide("", 0.0), *marks), x_scale=LOG, y_scale=SIGNED_LOG, width=0.1,
    )  # fmt: skip


def known_panel(found: Findings) -> LinePanel:
    """|K| over time."""
    return LinePanel(
        "known-set", "Known set", "step", "known pairs, share of all",
        "The share of pairs (s, a) with a bonus below ε(1 − γ), at the belief of each step of "
        f"{found.history.episodes} episodes: mean, and range as a band. An episode that has ended counts with its last "
        "belief.",
        (_over_time(found, "|K|", 2, lambda step: step.known),),
        covered=(0.0, 1.0),
    )  # fmt: skip


def escape_panel(found: Findings) -> LinePanel:
    """P(A_M) over time, in M_K and in the world."""
    limit = found.epsilon * (1 - found.gamma) ** 2
    lines = [_over_time(found, "in M_K", 0, lambda step: step.escape.in_known_mdp)]
    if found.history.steps[0].escape.in_world is not None:
        lines.append(_over_time(found, "in the world", 1, lambda step: step.escape.in_world or 0.0, dashed=True))
    return LinePanel(
        "escape", "Probability of escape", "step", f"P(leaving K within T = {found.history.horizon} steps)",
        "The probability that the greedy policy takes an unknown pair within T steps, mean and range over episodes: by "
        "the mean transitions of M_K and, where θ can be listed, for θ drawn from the belief. The proof calls a step "
        f"exploring if it is at least ε(1 − γ)² = {limit:.2g}.",
        tuple(lines),
        covered=(0.0, 1.0),
    )  # fmt: skip


def loss_panel(found: Findings) -> LinePanel:
    """V* − V^A over time, against 4ε."""
    history = found.history
    return LinePanel(
        "suboptimal", "Loss against the optimal policy", "step", "V* − V^A, in ranges of rewards",
        f"V*(b, s) less the value of acting on the planner from there on, mean and range over {history.episodes} "
        f"episodes. Above 4ε a step is suboptimal: {sum(history.counts):,} of {len(history.steps):,} are. The theorem "
        f"allows m = {power_text(history.bound)} with probability {1 - history.delta:g}, with 1 for its constant.",
        (_over_time(found, "V* − V^A", 3, lambda step: _loss(step) / history.unit),),
        (Guide("4ε", CLOSE * found.epsilon),),
    )  # fmt: skip


def _loss(step: HistoryStep) -> float:
    assert step.optimal is not None and step.achieved is not None
    return step.optimal[1] - step.achieved[0]


def power_text(value: float) -> str:
    """A number that may be very large: 1.2 × 10⁷."""
    if not math.isfinite(value) or value < _LARGE:
        return f"{value:,.0f}"
    power = math.floor(math.log10(value))
    return f"{value / 10.0**power:.1f} × 10{str(power).translate(_SUPERSCRIPTS)}"


def _over_time(
    found: Findings, label: str, colour: int, number: Callable[[HistoryStep], float], *, dashed: bool = False
) -> Line:
    """The mean of a number over the episodes, with its range; episodes that have ended keep their last one."""
    episodes: list[list[float]] = [[] for _ in range(found.history.episodes)]
    for step in found.history.steps:
        episodes[step.episode].append(number(step))
    length = max(map(len, episodes))
    table = np.array([values + [values[-1]] * (length - len(values)) for values in episodes])
    band = tuple(zip(table.min(axis=0).tolist(), table.max(axis=0).tolist(), strict=True))
    times = sorted({step.t for step in found.history.steps})
    points = tuple(zip(map(float, times), table.mean(axis=0).tolist(), strict=True))
    return Line(label, points, colour, band, dashed)


def _by_number(values: Iterable[float]) -> tuple[tuple[float, float], ...]:
    return tuple((float(n), float(v)) for n, v in enumerate(values))
