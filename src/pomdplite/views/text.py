"""What commands print: maps, beliefs, decisions, evaluations and tunings."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pomdplite.compile.jit import Floats
from pomdplite.errors import ModelError, PomdpLiteError
from pomdplite.experiments import Evaluation, Step
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.statistics import Difference
from pomdplite.experiments.studies.tables import chosen_text, parameter_text
from pomdplite.experiments.tuning.space import Range
from pomdplite.experiments.tuning.tuning import Trial, TuningResult
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.planners import Decision
from pomdplite.planners.decision import ActionValue
from pomdplite.planners.point_based.solver import SolveProgress
from pomdplite.views.beliefs import belief_lines
from pomdplite.views.grid import mark, mark_text, number_text
from pomdplite.views.terminal import print_in_full

_BAR = 20  # characters of a bar for probability 1
_MOST_PAIRS = 3  # components with two values each, of which both are shown
_MOST_BARS = 24  # bars shown of a belief
_LONG_NUMBER = re.compile(r"-?\d+\.\d{4,}(?:e[-+]?\d+)?")


def own_drawing(model: Model, method: str, *arguments: Any) -> Any:
    """What a model's own `draw` or `paint` returns; what it raises is reported under its name."""
    try:
        return getattr(type(model), method)(model, *arguments)
    except (PomdpLiteError, ImportError):
        raise
    except Exception as error:
        raise ModelError(f"{model.name}.{method} raised {type(error).__name__}: {error}") from error


def brief(words: str) -> str:
    """A state or reading in words, whose numbers have all their digits, with four of them at most."""
    return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.4g}", words)


def drawing(model: Model, x: Any, marginals: list[Floats]) -> RenderableType:
    """The state and belief: the model's own drawing if it has one, else the state in words and the belief as bars."""
    if defined(model, "draw") is not None:
        return Text(str(own_drawing(model, "draw", x, marginals)), no_wrap=True)
    return Group(Text(brief(model.describe_state(x))), belief_bars(model, marginals))


def belief_bars(model: Model, marginals: list[Floats]) -> RenderableType:
    """One bar per probability; means as numbers. Of many components with two values each, one value will do."""
    table = Table.grid(padding=(0, 2))
    lines = belief_lines(model, marginals)
    counts = Counter(line.name for line in lines if line.label is not None)
    if sum(count == 2 for count in counts.values()) > _MOST_PAIRS:
        lines = [b for a, b in pairwise([None, *lines]) if b and (counts[b.name] != 2 or (a and a.name == b.name))]
    for line in lines[:_MOST_BARS]:
        name, label, p = escape(line.name), line.label, line.number
        if label is not None:
            table.add_row(name, escape(label), Text("█" * round(_BAR * p), style="cyan"), f"{100 * p:.1f}%")
        elif line.interval is not None:
            table.add_row(name, line.mean, "", "")
        else:
            table.add_row(name, "mean", "", line.mean)
    if len(lines) > _MOST_BARS:
        table.add_row("…", f"{len(lines) - _MOST_BARS} more", "", "")
    return table


def known_values(decision: Decision) -> list[ActionValue]:
    """The legal actions of which the planner knows the value, best first: a search may not have tried all of them."""
    return [row for row in decision.table() if math.isfinite(row.q)]


def decision_table(model: Model, decision: Decision, most: int = 5) -> Table:
    """The best actions with their Q values, Q = reward + bonus."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    for column in ("action", "Q", "= reward", "+ bonus", "reward now", "bonus now"):
        table.add_column(column, justify="left" if column == "action" else "right", overflow="fold")
    for row in known_values(decision)[:most]:
        numbers = (row.q, row.reward, row.bonus, row.mean_reward, row.mean_bonus)
        chosen = row.action == decision.action
        table.add_row(("→ " if chosen else "  ") + escape(row.name), *(f"{v:.3f}" for v in numbers),
                      style="bold" if chosen else None)  # fmt: skip
    return table


def effort(decision: Decision) -> str:
    """How the values of a decision were found."""
    found = decision.solution
    if found.simulations:
        work = (
            f"{found.simulations:,} simulations, {found.steps:,} steps, {found.states:,} states, depth {found.deepest}"
        )
    else:
        work = f"{found.states:,} states, {f'{found.solved:,}' if found.solved else 'none'} re-solved"
    if decision.bounds is not None:
        low, high = decision.bounds
        work += f", value in [{low:.3f}, {high:.3f}]" if math.isfinite(low) else f", value at most {high:.3f}"
    return f"{found.solver}: {work}"


def print_step(console: Console, model: Model, step: Step) -> None:
    """Print one step of an episode."""
    d = step.decision
    console.rule(f"step {step.t + 1}", align="left")
    print_in_full(console, drawing(model, step.x, step.marginals))
    console.print()
    print_in_full(console, decision_table(model, d))
    console.print(f"[dim]{effort(d)}, {1000 * d.seconds:.2f} ms[/dim]")
    if len(d.line) > 1:
        console.print(f"[dim]expected actions: {escape(' '.join(d.line))}[/dim]", highlight=False)
    for note in d.notes:
        console.print(f"[yellow]{escape(note)}[/yellow]", highlight=False)
    console.print(
        f"did [bold]{escape(d.name)}[/bold], reward {step.reward:g}, observed {escape(brief(step.observation))}",
        highlight=False,
    )


def solving(progress: SolveProgress) -> str:
    """The progress of an offline solver."""
    return (
        f"{progress.seconds:6.1f} s  value in [{progress.lower:.3f}, {progress.upper:.3f}]  "
        f"{progress.vectors:,} α-vectors, {progress.trials:,} sampled paths"
    )


class Comparison(NamedTuple):
    """An evaluation, compared with the first one."""

    evaluation: Evaluation
    difference: Difference | None  # paired; None for the first one itself, or if either lacks episodes


def comparison_table(rows: Sequence[Comparison]) -> Table:
    """Planners on the same episodes, each with its paired difference from the first."""
    first, evaluations = rows[0].evaluation, [row.evaluation for row in rows]
    title = f"{first.problem}, {_episodes(first)}, seed {first.seed}"
    table = _marked_table(title, evaluations)
    for column in ("planner", "return", f"vs. {first.planner}, 95%", "ms/step", "success"):
        table.add_column(column, justify="left" if column == "planner" else "right", overflow="fold")
    for e, difference in rows:
        gap = "–"
        if difference is not None:
            low, high = difference.ci95
            gap = f"{difference.mean:+.2f} [{low:+.2f}, {high:+.2f}]"
        success = "–" if e.success_rate is None else f"{100 * e.success_rate:.3g}%"
        mean = f"{e.mean:.2f} ± {e.stderr:.2f}{mark(e)}"
        table.add_row(e.planner, mean, escape(gap), f"{1000 * e.seconds_per_step:.2f}", success)
    return table


def _marked_table(title: str, evaluations: Sequence[Evaluation]) -> Table:
    """An empty table; below it, what the marks at its numbers mean."""
    notes = "\n".join(mark_text(evaluations)) or None
    return Table(title=title, title_justify="left", caption=notes, caption_justify="left", box=box.SIMPLE_HEAD,
                 padding=(0, 1))  # fmt: skip


def _episodes(e: Evaluation) -> str:
    return f"{len(e.episodes):,} episode{'s' if len(e.episodes) > 1 else ''}"


def evaluation_table(evaluations: Sequence[Evaluation]) -> Table:
    """Planners on one problem, one per row."""
    first = evaluations[0]
    title = f"{first.problem}, {_episodes(first)}, seed {first.seed}"
    table = _marked_table(title, evaluations)
    for column in ("planner", "β", "return", "95% interval", "steps", "ms/step", "success"):
        table.add_column(column, justify="left" if column == "planner" else "right", overflow="fold")
    for e in evaluations:
        beta, many = e.parameters.get("beta"), len(e.episodes) > 1
        table.add_row(
            e.planner,
            "–" if beta is None else f"{beta:g}",
            f"{e.mean:.2f}" + (f" ± {e.stderr:.2f}" if many else "") + mark(e),
            f"{e.ci95[0]:.2f} … {e.ci95[1]:.2f}" if many else "–",
            f"{e.steps_mean:.1f}",
            f"{1000 * e.seconds_per_step:.2f}",
            "–" if e.success_rate is None else f"{100 * e.success_rate:.3g}%",
        )
    return table


def cell_name(cell: Cell) -> str:
    """A cell's planner with its parameters."""
    return " ".join([cell.planner, *(f"{name}={value}" for name, value in cell.parameters.items())])


def warnings(evaluation: Evaluation, model: Model) -> list[str]:
    """What qualifies an evaluation: notes from the planner, and episodes that hit the step limit where some end."""
    found = [f"in {count} of {len(evaluation.episodes)} episodes: {note}" for note, count in evaluation.notes.items()]
    if evaluation.cut and defined(model, "terminal") is not None:
        hint = " (with a large β, exploring can pay off forever)" if evaluation.parameters.get("beta") else ""
        limit = f"the limit of {model.episode_horizon} steps{hint}"
        found.append(f"{evaluation.cut} of {len(evaluation.episodes)} episodes hit {limit}")
    return found


def tuning_table(result: TuningResult) -> Table:
    """All trials, sorted by the first parameter if it is a number."""
    tuning = result.tuning
    title = f"{tuning.problem}, {tuning.planner}, held-out episodes of seed {tuning.seed}"
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1))
    for column in (*("β" if p.name == "beta" else p.name for p in tuning.parameters), "return", "95% interval",
                   "episodes", ""):  # fmt: skip
        table.add_column(column, justify="right" if column else "left", overflow="fold")
    trials = list(result.trials)
    if isinstance(tuning.parameters[0], Range):
        trials.sort(key=lambda t: t.values[tuning.parameters[0].name])
    best = result.best if result.alike else None
    for t in trials:
        e = t.evaluation
        mean = "–" if e is None else f"{e.mean:.2f} ± {e.stderr:.2f}"
        interval = "–" if e is None else f"{e.ci95[0]:.2f} … {e.ci95[1]:.2f}"
        values = [f"{v:g}" if isinstance(v, float) else escape(str(v)) for v in t.values.values()]
        table.add_row(*values, mean, interval, "–" if e is None else str(len(e.episodes)), _standing(t, t is best),
                      style="bold" if t is best else None)  # fmt: skip
    return table


def _standing(trial: Trial, best: bool) -> str:
    """The outcome of a trial in a word or two."""
    if best:
        return "best"
    if trial.entry.result.reason is not None:
        return "failed"
    return "†" if trial.alike else "pruned" if trial.pruned else "" if trial.finished else "running"


def tuning_summary(result: TuningResult) -> list[str]:
    """The best values, what is not significantly worse than they are, and why some values cannot be used."""
    reasons = dict.fromkeys(t.entry.result.reason for t in result.trials if t.entry.result.reason is not None)
    lines = [f"failed: {reason}" for reason in reasons]
    if not result.alike:
        return [*lines, "no trial has finished"]
    best, tuning = result.best, result.tuning
    e = best.evaluation
    assert e is not None  # a trial without episodes is not the best
    values = ", ".join(parameter_text(name, value) for name, value in best.values.items())
    lines.append(
        f"best: {values} with {e.mean:.2f}, 95% interval {e.ci95[0]:.2f} … {e.ci95[1]:.2f} over {len(e.episodes)} "
        "episodes; slightly optimistic, because it was selected on these episodes"
    )
    others = len(result.alike) - 1
    if len(tuning.parameters) == 1 and isinstance(tuning.parameters[0], Range) and others:
        name = tuning.parameters[0].name
        alike = sorted(t.values[name] for t in result.alike)
        finished = [t for t in result.trials if t.finished]
        worse = [t.values[name] for t in finished if not t.alike and alike[0] < t.values[name] < alike[-1]]
        exceptions = f", except {', '.join(f'{v:g}' for v in sorted(worse))}" if worse else ""
        lines.append(
            f"not significantly worse (†): {parameter_text(name, alike[0])} to {alike[-1]:g}{exceptions}, "
            f"of the {len(finished)} trials that finished"
        )
    else:
        lines.append(f"not significantly worse (†): {others or 'none'} of the {len(result.trials) - 1} other trials")
    return [*lines, *_against_auto(result)]


def _against_auto(result: TuningResult) -> list[str]:
    """Whether the best values are better than β = auto, if that was played."""
    if result.reference is not None and result.reference.reason is not None:
        return [f"not compared with β = auto: {result.reference.reason}"]
    verdict, e = result.verdict, result.best.evaluation
    if verdict is None or e is None:
        return []
    automatic, difference = verdict.automatic, verdict.difference
    beta = chosen_text("beta", automatic.parameters["beta"])
    numbers = f"{number_text(e.mean, e.stderr, 2)} against {number_text(automatic.mean, automatic.stderr, 2)}"
    numbers += f"; paired difference {number_text(difference.mean, difference.stderr, 2)}"
    return [f"better than {beta}: {numbers}" if verdict.better else f"not better than {beta} ({numbers}): keep auto"]
