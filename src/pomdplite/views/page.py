"""A study as one page of HTML that needs nothing but itself: tables, figures as SVG, and how it was run."""

import math
from collections.abc import Callable
from html import escape

from pomdplite.experiments.statistics import LEVEL
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import Column, Row, StudyTable, evaluations, problems, study_tables, swept
from pomdplite.views.figures import (
    Figure,
    difference_figure,
    distribution_figure,
    key,
    sweep_figure,
    time_figure,
)
from pomdplite.views.palette import DARK, LIGHT, Palette
from pomdplite.views.report import CLOCKS, TEST, Grid, Shown, budget_text, grid, legend, number_text

_NAMES = {"beta": "β", "time": "the time budget", "sims": "the budget in simulations"}

_SWEEP = "Mean return with its 95 % interval as a band. Dashed lines: planners with a single entry, for comparison."
_TIME = (
    "Mean return with its 95 % interval against the seconds {clock} that a step took, to decide and to update the "
    "belief. Up is better, left is faster. Lines join what differs in its budget alone."
)
_DIFFERENCES = (
    "Mean difference to the best planner of the problem, episode by episode on the same hidden values and noise, with "
    f"its 95 % interval. Hollow: not distinguishable from the best at {100 * LEVEL:g} %. The p values are of the "
    f"{TEST}; the intervals are not corrected."
)
_SHARES = "Share of episodes by discounted return; each line up to its tallest bar. The upright line is the mean."


def page(results: Results) -> str:
    """The page."""
    palette = Palette.of(results)
    tables = study_tables(results)
    sections = [("Results", _tables(tables, results))]
    for parameter in swept(results):
        figure = sweep_figure(results, parameter, palette)
        sections.append((f"Return against {_NAMES.get(parameter, parameter)}", _figure(figure, _SWEEP)))
    timed = _figure(time_figure(results, palette), _TIME.format(clock=CLOCKS[results.clock]))
    sections.append(("Return against planning time", timed))
    sections.append(("Paired differences", _by_table(tables, results, difference_figure, palette, _DIFFERENCES)))
    sections.append(("Distribution of returns", _by_table(tables, results, distribution_figure, palette, _SHARES)))
    sections.append(("All numbers", "".join(_numbers(results, problem, palette) for problem in problems(results))))
    notes = _said(results)
    if notes:
        sections.append(("What planners said", notes))
    sections.append(("How it was run", _how(results)))
    sections = [(heading, content) for heading, content in sections if content]
    links = "".join(f'<a href="#{_anchor(heading)}">{escape(heading)}</a>' for heading, _ in sections)
    body = "".join(f'<section id="{_anchor(h)}"><h2>{escape(h)}</h2>{content}</section>' for h, content in sections)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{escape(results.title)}</title><style>{_style()}</style></head><body><main>"
        f"<header><h1>{escape(results.title)}</h1>{_summary(tables, results)}<nav>{links}</nav></header>"
        f"{body}</main></body></html>\n"
    )


def table_html(g: Grid) -> str:
    """A table in the paper's layout, with its notes."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in g.header)
    lines = "".join(
        f'<tr><th scope="row">{escape(label)}</th>{"".join(map(_entry, line))}</tr>'
        for label, line in zip(g.labels, g.lines, strict=True)
    )
    notes = [*map(escape, g.notes), *([escape(legend("Bold"))] if g.compared else [])]
    notes += [f"<sup>{i}</sup> {escape(reason)}" for i, reason in enumerate(g.reasons, 1)]
    return (
        f'<div class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
        f'<div class="notes">{"".join(f"<p>{note}</p>" for note in notes)}</div>'
    )


def _entry(shown: Shown) -> str:
    text = _minus(escape(shown.text))
    if shown.best:
        return f'<td class="best"><b>{text}</b><i class="at"></i></td>'
    if shown.cited:
        return f'<td class="cited">{text}<i class="at"></i></td>'
    mark = "†" if shown.equal else f"<sup>{shown.reason}</sup>" if shown.reason is not None else ""
    return f'<td>{text}<i class="at">{mark}</i></td>'


def _minus(text: str) -> str:
    """Numbers with a minus sign of the width of a digit."""
    return text.replace("-", "−")


def _tables(tables: list[StudyTable], results: Results) -> str:
    shown = []
    for table in tables:
        if table.budget is not None:
            shown.append(f"<h3>{escape(budget_text(table, results))}</h3>")
        shown.append(table_html(grid(table, results)))
    return "".join(shown)


def _by_table(
    tables: list[StudyTable],
    results: Results,
    draw: Callable[[StudyTable, Palette], Figure],
    palette: Palette,
    caption: str,
) -> str:
    parts = []
    for table in tables:
        figure = _figure(draw(table, palette), caption if table is tables[-1] else "")
        if figure and table.budget is not None:
            parts.append(f"<h3>{escape(budget_text(table, results))}</h3>")
        parts.append(figure)
    return "".join(parts)


def _figure(figure: Figure, caption: str) -> str:
    if not figure.panels:
        return ""
    keys = "".join(f"<span>{svg}{escape(label)}</span>" for label, svg in figure.legend)
    panels = "".join(f"<figure><h4>{escape(problem)}</h4>{svg}</figure>" for problem, svg in figure.panels)
    return (
        (f'<div class="legend">{keys}</div>' if keys else "")
        + f'<div class="panels">{panels}</div>'
        + (f'<div class="notes"><p>{escape(caption)}</p></div>' if caption else "")
    )


def _summary(tables: list[StudyTable], results: Results) -> str:
    """The study in a paragraph, and who won in a line per problem."""
    planners, names = Palette.of(results).planners, problems(results)
    counts = sorted({r.cell.episodes for r in results.cells})
    episodes = f"{counts[0]:,}" + (f" to {counts[-1]:,}" if len(counts) > 1 else "")
    told = (
        f"{_counted(len(planners), 'planner')} on {_counted(len(names), 'problem')}, {episodes} episodes an entry. "
        "Episode by episode, all planners met the same hidden values and noise."
    )
    unfinished = sum(table.unfinished for table in tables)
    if unfinished:
        told += f" The study is unfinished: {_counted(unfinished, 'entry', 'entries')} of the tables lack episodes."
    won = [
        f"<li><b>{escape(column.problem)}</b>{escape(budget)}: {escape(words)}</li>"
        for table in tables
        for budget in (f", {budget_text(table, results)}" if table.budget is not None else "",)
        for column in table.columns
        if (words := _won(table, column))
    ]
    return f'<div class="lead"><p>{escape(told)}</p><ul>{"".join(won)}</ul></div>'


def _won(table: StudyTable, column: Column) -> str:
    """Who is best on a problem, in words; nothing where there is nothing to compare."""
    if len(column.played) < 2:
        return ""
    entries = [(row, e) for row, e in zip(table.rows, column.entries, strict=True) if e is not None]
    best = [(row, e.evaluation) for row, e in entries if e.best and e.evaluation is not None]
    mean = number_text(best[0][1].mean, best[0][1].stderr, column.digits).replace(" ", "\u00a0")
    verb = "has" if len(best) == 1 else "have"
    words = f"{_listed([row.label for row, _ in best])} {verb} the highest mean return, {_minus(mean)}"
    equal = [row for row, e in entries if e.equal]
    if not equal:
        return words + ("; every other is worse." if len(best) < len(column.played) else ".")
    return words + f"; {_listed(_shortened(equal))} cannot be told from {'it' if len(best) == 1 else 'them'}."


def _shortened(rows: list[Row], most: int = 4) -> list[str]:
    labels = [row.label for row in rows]
    return labels if len(labels) <= most else [*labels[: most - 1], f"{len(labels) - most + 1} others"]


def _listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def _numbers(results: Results, problem: str, palette: Palette) -> str:
    """Everything that was measured on a problem."""
    played = evaluations(results, problem)
    if not played:
        return ""
    heads = ("", "episodes", "mean return", "95 % interval", "success", "steps", "ms/step", "sims/step", "prepared, s")
    lines = []
    for row, e in played:
        several = math.isfinite(e.stderr)
        numbers = (
            f"{len(e.episodes):,}",
            f"{e.mean:.3f}",
            f"{e.ci95[0]:.3f} … {e.ci95[1]:.3f}" if several else "–",
            "–" if e.success_rate is None else f"{100 * e.success_rate:.1f} %",
            f"{e.steps_mean:.1f}",
            f"{1000 * e.seconds_per_step:.3g}",
            f"{e.simulations_per_step:,.0f}" if e.simulations_per_step else "–",
            f"{e.preparation_seconds:.2f}",
        )
        cells = "".join(f"<td>{_minus(number)}</td>" for number in numbers)
        lines.append(f'<tr><th scope="row">{key(palette, row.planner)} {escape(row.label)}</th>{cells}</tr>')
    head = "".join(f'<th scope="col">{h}</th>' for h in heads)
    return (
        f'<h3>{escape(problem)}</h3><div class="scroll"><table class="small"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _said(results: Results) -> str:
    """Notes of planners and episodes that were cut, with how often."""
    told = []
    for problem in problems(results):
        for row, e in evaluations(results, problem):
            notes = [(count, note) for note, count in e.notes.items()]
            if e.cut:
                notes.append((e.cut, "ended by the step limit."))
            told += [
                f"<li><b>{escape(row.label)}</b> on {escape(problem)}, in {count:,} of {len(e.episodes):,} episodes: "
                f"{escape(note)}</li>"
                for count, note in notes
            ]
    return f"<ul>{''.join(told)}</ul>" if told else ""


def _how(results: Results) -> str:
    clock = {"wall": "wall", "cpu": "processor time of the planner's thread"}[results.clock]
    facts = {"seed": str(results.seed), "clock": clock, **results.machine, **results.versions}
    lines = _list(facts)
    settings = "".join(f"<h3>{escape(problem)}</h3>{_list(told)}" for problem, told in results.settings.items())
    marks = (
        f"<p>{escape(legend('Bold'))} The test draws signs for the differences at random, with a fixed seed: if two "
        "planners were alike, each episode's difference could as well have had the other sign. Holm's correction keeps "
        f"the chance of any false difference in a column below {100 * LEVEL:g} %.</p>"
    )
    return (
        f'{lines}{settings}<h3>Configuration</h3><pre class="scroll">{escape(results.configuration.strip())}</pre>'
        f"<h3>How to read the marks</h3>{marks}"
    )


def _list(facts: dict[str, str]) -> str:
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(value)}</dd>' for name, value in facts.items())}</dl>"


def _anchor(heading: str) -> str:
    return "".join(c if c.isalnum() else "-" for c in heading.lower())


def _style() -> str:
    """The style sheet with the planners' colours, by light and by dark."""
    light, dark = ("".join(f".c{i}{{color:{c}}}" for i, c in enumerate(colours)) for colours in (LIGHT, DARK))
    return f"{_STYLE}{light}@media (prefers-color-scheme:dark){{{dark}}}"


_STYLE = """
:root{--ground:#fff;--ink:#1c2024;--soft:#5b6570;--rule:#dde2e7;--faint:#eef1f4;--tint:#f6f8fa;--accent:#0b62a8}
@media (prefers-color-scheme:dark){:root{--ground:#14181c;--ink:#e6e9ec;--soft:#a0aab4;--rule:#333b44;--faint:#252c33;
--tint:#1b2127;--accent:#7cc0f5}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--ground);color:var(--ink);
font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",sans-serif}
main{max-width:1140px;margin:0 auto;padding:2.2rem 1.25rem 4rem}
h1{font-size:clamp(1.5rem,4.5vw,2.1rem);line-height:1.2;letter-spacing:-.015em;margin:0 0 .7rem;overflow-wrap:anywhere}
h2{font-size:1.25rem;letter-spacing:-.01em;margin:0 0 .9rem;padding-top:1.1rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:1.6rem 0 .5rem;overflow-wrap:anywhere}
h4{font-size:.875rem;font-weight:600;margin:0 0 .35rem;overflow-wrap:anywhere}
section{margin-top:2.4rem}
p{margin:0 0 .6rem;overflow-wrap:anywhere}
.lead{max-width:46rem;color:var(--ink)}
nav{display:flex;flex-wrap:wrap;gap:.25rem 1.1rem;margin-top:1rem;font-size:.875rem}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.scroll{overflow-x:auto;max-width:100%}
table{width:max-content;border-collapse:collapse;font-variant-numeric:tabular-nums;border-top:2px solid var(--ink);
border-bottom:2px solid var(--ink);margin-bottom:.8rem}
th,td{padding:.34rem .8rem;white-space:nowrap;text-align:right;font-weight:400}
thead th{font-weight:600;border-bottom:1px solid var(--ink);vertical-align:bottom}
th:first-child{text-align:left;padding-left:.2rem}
tr>th:first-child{position:sticky;left:0;background:var(--ground)}
tbody tr:nth-child(even),tbody tr:nth-child(even)>th:first-child{background:var(--tint)}
td .at{display:inline-block;width:.75em;text-align:left;font-style:normal}
td.best b{font-weight:700}td.cited{color:var(--soft);font-style:italic}
table.small{font-size:.875rem}table.small svg{display:inline-block;margin:0 -6px;vertical-align:-1px}
@media (max-width:600px){tr>th:first-child{max-width:50vw;white-space:normal;overflow-wrap:anywhere}}
sup{line-height:0;font-size:.75em}
.notes{max-width:46rem;color:var(--soft);font-size:.875rem}.notes p{margin-bottom:.25rem}
.legend{display:flex;flex-wrap:wrap;gap:.2rem 1.2rem;margin:0 0 .9rem;font-size:.875rem}
.legend span{display:inline-flex;align-items:center;gap:.4rem;min-width:0;overflow-wrap:anywhere}
.legend svg{width:26px;flex:none}
.panels{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,345px),1fr));gap:1.6rem;
margin-bottom:.8rem}
figure{margin:0;min-width:0;max-width:500px}
svg{display:block}figure svg{width:100%;height:auto}
svg text{font:11px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans",sans-serif;fill:var(--ink)}
svg .tick{fill:var(--soft);font-size:10.5px;font-variant-numeric:tabular-nums}svg .label{fill:var(--soft)}
svg .grid{stroke:var(--faint)}svg .axis{stroke:var(--soft)}svg .zero{stroke:var(--soft);stroke-dasharray:2 2}
svg .mean{stroke:var(--ink);stroke-width:1.4}
svg .curve{fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round}
svg .reference{stroke-dasharray:5 4;stroke-width:1.4}
svg .dash1{stroke-dasharray:7 3}svg .dash2{stroke-dasharray:2 2}svg .dash3{stroke-dasharray:8 3 2 3}
svg .band{fill:currentColor;opacity:.16}svg .bar{fill:currentColor;opacity:.85}
svg .whisker{stroke:currentColor;stroke-width:1.6}
svg .mark{fill:currentColor;stroke:var(--ground);stroke-width:1}
svg .hollow{fill:var(--ground);stroke:currentColor;stroke-width:1.6}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.2rem 1.2rem;margin:0;font-size:.9375rem}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
pre{background:var(--tint);border:1px solid var(--rule);border-radius:6px;padding:.8rem 1rem;margin:0;
font:13px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
ul{padding-left:1.2rem;margin:0}li{margin-bottom:.3rem;overflow-wrap:anywhere}
@media print{nav{display:none}section{break-inside:avoid-page}}
"""
