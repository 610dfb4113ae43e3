"""Plots of studies and tunings, drawn with matplotlib (extra `plots`)."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import parameter_name, swept
from pomdplite.experiments.tuning.space import Choice, Parameter
from pomdplite.experiments.tuning.tuning import Trial, TuningResult
from pomdplite.views.figures import (
    RETURN_LABEL,
    IntervalPanel,
    ReturnPanel,
    interval,
    mean_panels,
    sweep_panels,
)
from pomdplite.views.mpl import new_figure
from pomdplite.views.palette import LIGHT, Palette

_MARKERS = ("o", "s", "^", "D", "v", "<", "P", ">", "p")
_DASHES = ("-", (0, (5, 2)), (0, (1.5, 1.5)), (0, (6, 2, 1.5, 2)))
_BEST, _ALIKE, _OTHER = "#f2a541", "#4c78a8", "0.5"

AnyPanel = TypeVar("AnyPanel", ReturnPanel, IntervalPanel)


def plot(found: Results | TuningResult, parameter: str | None = None) -> Any:
    """A matplotlib figure of a study's or a tuning's returns with 95% intervals.

    A study: return against `parameter`, by default the first parameter that was swept, with one panel per problem; if
    none was swept, the mean return of each planner. A tuning: return against `parameter`, by default against each
    parameter that was tuned; trials that were pruned are hollow.
    """
    if isinstance(found, Results):
        return _study_figure(found, parameter)
    if isinstance(found, TuningResult):
        return _tuning_figure(found, parameter)
    raise UsageError(f"plot() takes Results or a TuningResult, not {type(found).__name__}.")


def _check_known(parameter: str | None, known: Sequence[str], verb: str) -> None:
    if parameter is not None and parameter not in known:
        choices = f"; choose from: {', '.join(known)}" if known else ", and nothing else was"
        raise UsageError(f"{parameter!r} was not {verb}{choices}.")


def _study_figure(results: Results, parameter: str | None) -> Any:
    known = swept(results)
    _check_known(parameter, known, "swept in this study")
    against = parameter or (known[0] if known else None)
    palette = Palette.of(results)
    if against is None:
        means = mean_panels(results)
        height = 1.0 + 0.32 * max((len(panel.rows) for panel in means), default=0)
        return _panel_figure(means, height, lambda axes, panel: _draw_means(axes, panel, palette))
    return _panel_figure(sweep_panels(results, against), 3.6, lambda axes, panel: _draw_returns(axes, panel, palette))


def _panel_figure(panels: Sequence[AnyPanel], height: float, draw: Callable[[Any, AnyPanel], None]) -> Any:
    """A figure with up to three panels in a row, each of this height in inches."""
    if not panels:
        raise UsageError("there are no episodes to plot yet.")
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = new_figure(4.4 * columns, height * rows)
    grid = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axes, panel in zip(grid, panels, strict=False):
        draw(axes, panel)
        axes.set_title(panel.problem)
        axes.set_xlabel(panel.x_label)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    return figure


def _style(palette: Palette, planner: str) -> dict[str, Any]:
    marker = _MARKERS[palette.number(planner) % len(_MARKERS)]
    return {"color": LIGHT[palette.colour(planner)], "marker": marker}


def _draw_returns(axes: Any, panel: ReturnPanel, palette: Palette) -> None:
    """Curves with bands."""
    for line in panel.references:
        colour = LIGHT[palette.colour(line.planner)]
        axes.axhline(line.mean, color=colour, linestyle=(0, (4, 3)), linewidth=1.2, label=line.label)
    for series in panel.series:
        x = [p.x for p in series.points]
        style = _style(palette, series.planner)
        low, high = [p.low for p in series.points], [p.high for p in series.points]
        axes.fill_between(x, low, high, color=style["color"], alpha=0.16, linewidth=0)
        dash = _DASHES[series.dash % len(_DASHES)]
        axes.plot(x, [p.mean for p in series.points], linestyle=dash, label=series.label, **style)
    if panel.log_x:
        axes.set_xscale("log")
    if panel.ticks is not None:
        axes.set_xticks(panel.ticks, [f"{value:g}" for value in panel.ticks])
        axes.minorticks_off()
    axes.set_ylabel(RETURN_LABEL)
    axes.legend(frameon=False, fontsize=8)


def _draw_means(axes: Any, panel: IntervalPanel, palette: Palette) -> None:
    """One interval per planner."""
    for i, row in enumerate(panel.rows):
        axes.errorbar(row.mean, i, xerr=[[row.mean - row.low], [row.high - row.mean]], **_style(palette, row.planner))
    axes.set_yticks(np.arange(len(panel.rows)), [row.label for row in panel.rows])
    axes.set_ylim(len(panel.rows) - 0.5, -0.5)


def _tuning_figure(result: TuningResult, parameter: str | None) -> Any:
    tuning = result.tuning
    _check_known(parameter, [p.name for p in tuning.parameters], "tuned")
    parameters = [p for p in tuning.parameters if parameter in (None, p.name)]
    figure = new_figure(5.6 * len(parameters), 4.2)
    panels = np.atleast_1d(figure.subplots(1, len(parameters), sharey=True))
    for axes, shown in zip(panels, parameters, strict=True):
        _draw_trials(axes, result, shown)
    panels[0].set_ylabel(RETURN_LABEL)
    if panels[0].has_data():
        panels[0].legend(frameon=False, fontsize=8)
    figure.suptitle(f"{tuning.problem}, {tuning.planner}: up to {tuning.episodes} held-out episodes per trial")
    return figure


def _draw_trials(axes: Any, result: TuningResult, parameter: Parameter) -> None:
    if isinstance(parameter, Choice):
        axes.set_xticks(np.arange(len(parameter.values)), [str(v) for v in parameter.values])
        axes.set_xlim(-0.5, len(parameter.values) - 0.5)
    elif parameter.log:
        axes.set_xscale("log")
    for (label, trials), colour in zip(_groups(result).items(), (_BEST, _ALIKE, _OTHER, _OTHER), strict=True):
        if not trials:
            continue
        values = [t.values[parameter.name] for t in trials]
        x = [parameter.values.index(v) for v in values] if isinstance(parameter, Choice) else values
        means = np.array([t.evaluation.mean for t in trials if t.evaluation is not None])
        ends = np.array([interval(t.evaluation) for t in trials if t.evaluation is not None])
        best = label == "best"
        axes.errorbar(
            x, means, np.abs(ends - means[:, None]).T, fmt="*" if best else "o", color=colour, label=label,
            markerfacecolor="white" if label == "pruned or running" else colour, markersize=13 if best else 6,
            capsize=2, linewidth=1, zorder=3 if best else 2,
        )  # fmt: skip
    axes.set_xlabel(parameter_name(parameter.name))


def _groups(result: TuningResult) -> dict[str, list[Trial]]:
    """The trials with episodes, by how they compare to the best one."""
    groups: dict[str, list[Trial]] = {"best": [], "not significantly worse": [], "worse": [], "pruned or running": []}
    best = result.best if any(t.entry.best for t in result.trials) else None
    for t in result.trials:
        if t.evaluation is None:
            continue
        if t is best:
            groups["best"].append(t)
        elif t.alike:
            groups["not significantly worse"].append(t)
        else:
            groups["worse" if t.finished else "pruned or running"].append(t)
    return groups
