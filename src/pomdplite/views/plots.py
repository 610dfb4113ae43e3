"""Pictures with matplotlib (extra `plots`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments import Step
from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import curves, evaluations, parameter_name, problems, swept
from pomdplite.experiments.tuning.space import Choice, Parameter
from pomdplite.experiments.tuning.tuning import Trial, TuningResult
from pomdplite.model.model import Model
from pomdplite.planners import Decision
from pomdplite.views.palette import LIGHT, Palette
from pomdplite.views.svg import spans_decades

_REWARD, _BONUS = "#4c78a8", "#f2a541"
_MARKERS = ("o", "s", "^", "D", "v", "<", "P", ">", "p")


def drawn_with() -> Any:
    """Matplotlib's Figure; an error if it is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PomdpLiteError("pictures need matplotlib: pip install 'pomdplite[plots]'.") from None
    return Figure


def check_kind(picture: Path) -> None:
    """UsageError if no picture can be written under this name."""
    try:
        known = drawn_with()().canvas.get_supported_filetypes()
    except PomdpLiteError:
        return  # without matplotlib there will be no picture, which is said when there is something to draw
    if picture.suffix.removeprefix(".").lower() not in known:
        raise UsageError(f"cannot write {picture}: a picture's name ends in {', '.join(f'.{k}' for k in known)}.")


def _figure(width: float, height: float) -> Any:
    return drawn_with()(figsize=(width, height), layout="constrained")


def paint(model: Model, axes: Any, x: Any, marginals: list[Floats]) -> None:
    """The model's own picture, or its belief as bars."""
    own = getattr(model, "paint", None)
    if own is not None:
        own(axes, x, marginals)
        return
    bars = [
        (f"{c.name} = {label}", float(p))
        for c, ps in zip(model.hidden.components, marginals, strict=True)
        for label, p in zip(c.labels, ps, strict=True)
    ]
    axes.barh(np.arange(len(bars)), [p for _, p in bars], color=_REWARD)
    axes.set_yticks(np.arange(len(bars)), [name for name, _ in bars])
    axes.set(xlim=(0, 1), xlabel="belief", title=model.describe_state(x))
    axes.invert_yaxis()


def paint_decision(model: Model, axes: Any, decision: Decision, most: int = 8) -> None:
    """The best actions: Q as reward part and bonus part."""
    rows = decision.table(model.actions)[:most]
    at = np.arange(len(rows))
    reward, bonus = np.array([r.reward for r in rows]), np.array([r.bonus for r in rows])
    axes.barh(at, reward, color=_REWARD, label="reward")
    axes.barh(at, bonus, left=np.where(reward > 0, reward, 0), color=_BONUS, label="bonus")
    names = [("→ " if r.action == decision.action else "") + r.name for r in rows]
    axes.set_yticks(at, names)
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.action == decision.action else "normal")
    ends = np.maximum(reward, 0) + np.maximum(bonus, 0)
    longest = max(float(ends.max()), 1e-9)
    for i, row in enumerate(rows):
        axes.text(ends[i] + 0.02 * longest, i, f"{row.q:.2f}", va="center", fontsize=8)
    axes.set_xlim(left=min(0.0, float(reward.min())) * 1.05, right=1.2 * longest)
    axes.invert_yaxis()
    axes.axvline(0, color="0.5", lw=0.8)
    axes.set_xlabel("Q = reward + bonus")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8, frameon=False)


def save_state(model: Model, x: Any, marginals: list[Floats], path: Path) -> None:
    """A picture of one state and belief."""
    figure = _figure(5, 5)
    paint(model, figure.subplots(), x, marginals)
    figure.savefig(path, dpi=110)


def step_figure(model: Model, step: Step, seen: Any = None) -> Any:
    """One step: the state and belief before it, and the decision.

    With `seen`, what a camera sees after the step: that, the state and belief after it, and the decision.
    """
    if seen is None:
        figure = _figure(10, 5)
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        paint(model, left, step.x, step.marginals)
    else:
        figure = _figure(13, 4.6)
        camera, left, right = figure.subplots(1, 3, width_ratios=(1.5, 1, 0.8))
        camera.imshow(seen)
        camera.axis("off")
        paint(model, left, step.y, step.marginals_after)
    paint_decision(model, right, step.decision)
    figure.suptitle(f"step {step.t + 1}: {step.decision.name} → reward {step.reward:g}, observed {step.observation}")
    return figure


def pixels(figure: Any) -> Any:
    """A figure as a picture, [height, width, 3] of bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def save_highlights(model: Model, steps: Sequence[Step], path: Path, title: str, most: int = 6) -> None:
    """Several steps of an episode in one picture."""
    chosen = highlights(steps, most)
    columns = 3 if len(chosen) > 2 else len(chosen)
    rows = -(-len(chosen) // columns)
    figure = _figure(4.2 * columns, 4.2 * rows + 0.4)
    panels = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axes, step in zip(panels, chosen, strict=False):
        paint(model, axes, step.x, step.marginals)
        axes.set_title(f"step {step.t + 1}: {step.decision.name}, reward {step.reward:g}, observed {step.observation}",
                       fontsize=9)  # fmt: skip
    for axes in panels[len(chosen) :]:
        axes.axis("off")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def highlights(steps: Sequence[Step], most: int) -> list[Step]:
    """The first and last step, and those with the largest rewards or belief changes in between."""
    if len(steps) <= most:
        return list(steps)
    inner = list(steps[1:-1])

    def weight(step: Step) -> float:
        moved = sum(float(np.abs(a - b).sum()) for a, b in zip(step.marginals_after, step.marginals, strict=True))
        return abs(step.reward) + moved

    kept = sorted(sorted(inner, key=weight, reverse=True)[: most - 2], key=lambda s: s.t)
    return [steps[0], *kept, steps[-1]]


def study_figure(results: Results, parameter: str | None = None) -> Any:
    """A study's returns, a panel per problem: against a parameter that was swept, or one line per planner."""
    known = swept(results)
    if parameter is not None and parameter not in known:
        raise UsageError(f"{parameter!r} was not swept in this study, only {', '.join(known) or 'nothing'}.")
    against = parameter or (known[0] if known else None)
    palette = Palette.of(results)
    names = [p for p in problems(results) if against is None or curves(results, p, against)]
    columns = min(3, len(names))
    figure = _figure(4.4 * columns, 3.6 * -(-len(names) // columns))
    panels = np.atleast_1d(figure.subplots(-(-len(names) // columns), columns)).ravel()
    for axes, problem in zip(panels, names, strict=False):
        axes.set_title(problem)
        if against is not None:
            _paint_sweep(axes, results, problem, against, palette)
        else:
            _paint_means(axes, results, problem, palette)
    for axes in panels[len(names) :]:
        axes.axis("off")
    return figure


def _half_interval(e: Evaluation) -> float:
    """Half the width of the 95 % interval; 0 for a single episode, which has none."""
    return e.ci95[1] - e.mean if np.isfinite(e.stderr) else 0.0


def _paint_sweep(axes: Any, results: Results, problem: str, parameter: str, palette: Palette) -> None:
    """Curves with 95 % bands."""
    found = curves(results, problem, parameter)
    for curve in found:
        x, mean = np.array([v for v, _ in curve.points]), np.array([e.mean for _, e in curve.points])
        half = np.array([_half_interval(e) for _, e in curve.points])
        colour = LIGHT[palette.colour(curve.row.planner)]
        marker = _MARKERS[palette.number(curve.row.planner) % len(_MARKERS)]
        axes.fill_between(x, mean - half, mean + half, color=colour, alpha=0.16, linewidth=0)
        axes.plot(x, mean, color=colour, marker=marker, label=curve.row.label)
    if spans_decades([v for curve in found for v, _ in curve.points]):
        axes.set_xscale("log")
    axes.set(xlabel=parameter_name(parameter), ylabel="mean discounted return")
    axes.legend(frameon=False, fontsize=8)


def _paint_means(axes: Any, results: Results, problem: str, palette: Palette) -> None:
    """Means with 95 % intervals, one line per planner."""
    found = evaluations(results, problem)
    for i, (row, e) in enumerate(found):
        half = _half_interval(e)
        marker = _MARKERS[palette.number(row.planner) % len(_MARKERS)]
        axes.errorbar(e.mean, i, xerr=half, color=LIGHT[palette.colour(row.planner)], marker=marker)
    axes.set_yticks(np.arange(len(found)), [row.label for row, _ in found])
    axes.invert_yaxis()
    axes.set_xlabel("mean discounted return")


def tuning_figure(result: TuningResult) -> Any:
    """Return against each parameter that was tuned, with 95 % intervals; hollow: given up, or under way."""
    tuning = result.tuning
    figure = _figure(5.6 * len(tuning.parameters), 4.2)
    panels = np.atleast_1d(figure.subplots(1, len(tuning.parameters), sharey=True))
    for axes, parameter in zip(panels, tuning.parameters, strict=True):
        _paint_trials(axes, result, parameter)
    panels[0].set_ylabel("mean discounted return")
    figure.suptitle(f"{tuning.problem}, {tuning.planner}: up to {tuning.episodes} held-out episodes a trial")
    return figure


def _paint_trials(axes: Any, result: TuningResult, parameter: Parameter) -> None:
    trials = [t for t in result.trials if t.evaluation is not None]
    if isinstance(parameter, Choice):
        axes.set_xticks(np.arange(len(parameter.values)), [str(v) for v in parameter.values])
        axes.set_xlim(-0.5, len(parameter.values) - 0.5)
    elif parameter.log:
        axes.set_xscale("log")
    best = result.best if any(t.entry.best for t in trials) else None
    kinds: dict[str, list[Trial]] = {"best": [], "not distinguishable from it": [], "worse": [], "given up": []}
    for t in trials:
        place = "best" if t is best else "given up" if not t.finished else "worse"
        kinds["not distinguishable from it" if t.alike and t is not best else place].append(t)
    for (label, own), colour in zip(kinds.items(), (_BONUS, _REWARD, "0.5", "0.5"), strict=True):
        if not own:
            continue
        values = [t.values[parameter.name] for t in own]
        x = [parameter.values.index(v) for v in values] if isinstance(parameter, Choice) else values
        evaluations_ = [t.evaluation for t in own if t.evaluation is not None]
        half = [_half_interval(e) for e in evaluations_]
        axes.errorbar(
            x, [e.mean for e in evaluations_], half, fmt="*" if label == "best" else "o", color=colour, label=label,
            markerfacecolor="white" if label == "given up" else colour, markersize=13 if label == "best" else 6,
            capsize=2, linewidth=1, zorder=3 if label == "best" else 2,
        )  # fmt: skip
    axes.set_xlabel(parameter_name(parameter.name))
    if trials:
        axes.legend(frameon=False, fontsize=8)
