"""A study as one self-contained HTML page: tables, figures as SVG, all numbers, and how the study was run.

Here is what the page says; the folder `templates` has its HTML and CSS.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.statistics import LEVEL
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import Column, Row, StudyTable, evaluations, problems, study_tables, swept
from pomdplite.views import jinja
from pomdplite.views.figures import Panel, difference_panels, histogram_panels, sweep_panels, time_panels
from pomdplite.views.grid import CLOCKS, TEST, budget_text, grid, marks_text, number_text
from pomdplite.views.palette import DARK, LIGHT, Palette
from pomdplite.views.svg_figures import draw, sample, sweep_legend

_PARAMETERS = {"beta": "β", "time": "the time budget", "sims": "the simulation budget"}

_SWEEP = "Mean return with its 95% interval as a band. Dashed horizontal lines: planners with a single entry."
_TIME = (
    "Mean return with its 95% interval against the {clock} that a step took, including the belief update. Higher is "
    "better, further left is faster. Lines join entries that differ only in their budget."
)
_DIFFERENCES = (
    "Mean difference in return from the best planner on the problem, with its 95% interval. Differences are paired: in "
    "each episode both planners face the same hidden values and noise. Hollow markers: not significant at the "
    f"{100 * LEVEL:g}% level. p values: {TEST}. The intervals are not corrected."
)
_HISTOGRAMS = (
    "Share of episodes by discounted return; each row is scaled to its tallest bar. The vertical line is the mean."
)
_MARKS = (
    "The test flips the signs of the paired differences at random, with a fixed seed: if two planners were equally "
    "good, the difference in each episode could just as well have had the opposite sign. Holm's correction keeps the "
    f"probability of any false difference in a column below {100 * LEVEL:g}%."
)


class PageSection(NamedTuple):
    """A section of the page; nothing is shown if it has no content."""

    heading: str
    template: str  # that shows the content
    content: Any
    caption: str = ""


class PageFigure(NamedTuple):
    """Panels with a legend."""

    heading: str  # the budget, if the study has a table for each of several budgets
    legend: Mapping[str, str]  # SVG by label
    panels: Sequence[tuple[str, str]]  # problem and SVG


@dataclass(frozen=True)
class PlannerNote:
    """A message about some episodes."""

    label: str
    problem: str
    count: int
    episodes: int
    message: str


@dataclass(frozen=True)
class RunDetails:
    """How the study was run."""

    facts: dict[str, str]
    settings: dict[str, dict[str, str]]  # constants by problem
    configuration: str  # TOML
    marks: str  # what the marks in tables mean


def report_page(results: Results) -> str:
    """The page as HTML."""
    palette, study = Palette.of(results), study_tables(results)
    headings = ["" if table.budget is None else budget_text(table, results) for table in study]
    grids = [(heading, grid(table, results)) for heading, table in zip(headings, study, strict=True)]

    def by_table(panels: Callable[[StudyTable], Sequence[Panel]]) -> list[PageFigure]:
        drawn = [_drawn(panels(table), palette) for table in study]
        return [PageFigure(h, {}, panels) for h, panels in zip(headings, drawn, strict=True) if panels]

    sections = [PageSection("Results", "results.html.j2", grids)]
    for parameter in swept(results):
        heading = f"Return against {_PARAMETERS.get(parameter, parameter)}"
        swept_panels = sweep_panels(results, parameter)
        figure = PageFigure("", sweep_legend(swept_panels, palette), _drawn(swept_panels, palette))
        sections.append(PageSection(heading, "figures.html.j2", [figure], _SWEEP))
    if timed := time_panels(results):
        legend = {planner: sample(palette, planner) for planner in palette.planners}
        caption = _TIME.format(clock=CLOCKS[results.clock])
        figure = PageFigure("", legend, _drawn(timed, palette))
        sections.append(PageSection("Return against planning time", "figures.html.j2", [figure], caption))
    sections += [
        PageSection("Paired differences", "figures.html.j2", by_table(difference_panels), _DIFFERENCES),
        PageSection("Distribution of returns", "figures.html.j2", by_table(histogram_panels), _HISTOGRAMS),
        PageSection("All numbers", "numbers.html.j2", _numbers(results, palette)),
        PageSection("Notes from planners", "notes.html.j2", _planner_notes(results)),
        PageSection("Run details", "run.html.j2", _run_details(results)),
    ]
    return jinja.render(
        "page.html.j2",
        title=results.title,
        summary=_summary(study, results),
        winners=[
            (column.problem, heading, words)
            for heading, table in zip(headings, study, strict=True)
            for column in table.columns
            if (words := _winner(table, column))
        ],
        sections=[section for section in sections if section.content],
        light=LIGHT,
        dark=DARK,
    )


def _drawn(panels: Sequence[Panel], palette: Palette) -> list[tuple[str, str]]:
    return [(panel.problem, draw(panel, palette)) for panel in panels]


def _summary(study: Sequence[StudyTable], results: Results) -> str:
    """The study in a paragraph."""
    planners, names = Palette.of(results).planners, problems(results)
    counts = sorted({r.cell.episodes for r in results.cells})
    episodes = f"{counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "")
    summary = (
        f"{_counted(len(planners), 'planner')} on {_counted(len(names), 'problem')}, {episodes} episodes per entry. "
        "In each episode, all planners face the same hidden values and noise."
    )
    unfinished = sum(table.unfinished for table in study)
    if unfinished:
        summary += f" The study is unfinished: {_counted(unfinished, 'entry', 'entries')} in the tables lack episodes."
    return summary


def _winner(table: StudyTable, column: Column) -> str:
    """Who is best on a problem, in a sentence; empty if there is nothing to compare."""
    if len(column.played) < 2:
        return ""
    entries = [(row, e) for row, e in zip(table.rows, column.entries, strict=True) if e is not None]
    best = [(row, e.evaluation) for row, e in entries if e.best and e.evaluation is not None]
    mean = number_text(best[0][1].mean, best[0][1].stderr, column.digits).replace(" ", "\u00a0").replace("-", "−")
    verb = "has" if len(best) == 1 else "have"
    words = f"{_listed([row.label for row, _ in best])} {verb} the highest mean return, {mean}"
    equal = [row for row, e in entries if e.equal]
    if equal:
        return words + f"; {_listed(_first(equal))} {'is' if len(equal) == 1 else 'are'} not significantly worse."
    return words + ("; all others are significantly worse." if len(best) < len(column.played) else ".")


def _first(rows: Sequence[Row], most: int = 4) -> list[str]:
    labels = [row.label for row in rows]
    return labels if len(labels) <= most else [*labels[: most - 1], f"{len(labels) - most + 1} others"]


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _numbers(results: Results, palette: Palette) -> list[tuple[str, list[tuple[str, str, dict[str, str]]]]]:
    """For each problem its entries: the sample of the planner as SVG, the label, and all numbers by heading."""
    found = []
    for problem in problems(results):
        entries = [(sample(palette, row.planner), row.label, measured(e)) for row, e in evaluations(results, problem)]
        if entries:
            found.append((problem, entries))
    return found


def measured(e: Evaluation) -> dict[str, str]:
    """All numbers of an evaluation by their headings."""
    return {
        "episodes": f"{len(e.episodes):,}",
        "mean return": f"{e.mean:.3f}",
        "95% interval": f"{e.ci95[0]:.3f} … {e.ci95[1]:.3f}" if math.isfinite(e.stderr) else "–",
        "success": "–" if e.success_rate is None else f"{100 * e.success_rate:.1f}%",
        "steps": f"{e.steps_mean:.1f}",
        "ms/step": f"{1000 * e.seconds_per_step:.3g}",
        "sims/step": f"{e.simulations_per_step:,.0f}" if e.simulations_per_step else "–",
        "preparation, s": f"{e.preparation_seconds:.2f}",
    }


def _planner_notes(results: Results) -> list[PlannerNote]:
    """What planners reported, and episodes that hit the step limit."""
    found = []
    for problem in problems(results):
        for row, e in evaluations(results, problem):
            messages = [*e.notes.items(), *([("stopped at the step limit.", e.cut)] if e.cut else [])]
            found += [PlannerNote(row.label, problem, count, len(e.episodes), message) for message, count in messages]
    return found


def _run_details(results: Results) -> RunDetails:
    clock = {"wall": "wall-clock time", "cpu": "CPU time of the planner's thread"}[results.clock]
    facts = {"seed": str(results.seed), "clock": clock, **results.machine, **results.versions}
    marks = f"{marks_text('Bold')} {_MARKS}"
    return RunDetails(facts, results.settings, results.configuration.strip(), marks)
