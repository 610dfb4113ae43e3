"""What notebooks show for decisions, episodes, evaluations, results and checks: small HTML fragments.

They have no colours of their own but those of bars, so that they suit a light and a dark notebook. Without Jinja2
(extra `report`), notebooks show plain text.
"""

from collections.abc import Callable
from typing import Any

from pomdplite.checking.report import CheckReport
from pomdplite.display import notebook_html
from pomdplite.experiments import Episode, Evaluation, Results
from pomdplite.planners import Decision
from pomdplite.views import jinja
from pomdplite.views.page import measured
from pomdplite.views.palette import LIGHT
from pomdplite.views.replay.page import Replay
from pomdplite.views.tables import tables
from pomdplite.views.text import effort, known_values

_MOST_ACTIONS, _MOST_STEPS = 8, 60  # rows of a table
_REWARD, _BONUS = LIGHT[5], LIGHT[4]  # visible on white and on black


def _fragment(kind: type, template: str) -> Callable[[Callable[[Any], dict[str, Any]]], Callable[[Any], str | None]]:
    """Register a function that gives the values of a template for objects of a type."""

    def decorate(values: Callable[[Any], dict[str, Any]]) -> Callable[[Any], str | None]:
        def shown(result: Any) -> str | None:
            return jinja.render(template, **values(result)) if jinja.is_installed() else None

        notebook_html.register(kind, shown)
        return shown

    return decorate


@_fragment(Decision, "decision_fragment.html.j2")
def _decision(result: Decision) -> dict[str, Any]:
    rows = known_values(result)
    ends = [0.0, *(row.q for row in rows[:_MOST_ACTIONS]), *(row.reward for row in rows[:_MOST_ACTIONS])]
    low, span = min(ends), max(ends) - min(ends) or 1.0

    def bar(one: float, other: float) -> tuple[float, float]:
        """Left end and width, in percent."""
        return 100 * (min(one, other) - low) / span, 100 * abs(one - other) / span

    return {
        "decision": result,
        "rows": [(row, bar(0.0, row.reward), bar(row.reward, row.q)) for row in rows[:_MOST_ACTIONS]],
        "more": max(0, len(rows) - _MOST_ACTIONS),
        "has_bonus": any(row.bonus for row in rows),
        "effort": effort(result),
        "colours": (_REWARD, _BONUS),
    }


@_fragment(Episode, "facts_fragment.html.j2")
def _episode(result: Episode) -> dict[str, Any]:
    success = {} if result.success is None else {"success": "yes" if result.success else "no"}
    return {
        "title": f"Episode {result.index}",
        "facts": {
            "return": f"{result.discounted:.4g}",
            "undiscounted": f"{result.undiscounted:g}",
            "steps": f"{result.steps:,}{' (truncated)' if result.cut else ''}",
            **success,
            "planning time": f"{result.seconds:.3g} s",
        },
        "notes": result.notes,
    }


@_fragment(Evaluation, "facts_fragment.html.j2")
def _evaluation(result: Evaluation) -> dict[str, Any]:
    count, beta = len(result.episodes), result.parameters.get("beta")
    return {
        "title": f"{result.planner} on {result.problem}, seed {result.seed}",
        "facts": ({} if beta is None else {"β": f"{beta:g}"}) | measured(result),
        "notes": [f"in {times} of {count} episodes: {note}" for note, times in result.notes.items()],
    }


@_fragment(CheckReport, "check_fragment.html.j2")
def _check(result: CheckReport) -> dict[str, Any]:
    return {"lines": str(result).splitlines(), "ok": result.ok}


@notebook_html.register
def _results(result: Results) -> str | None:
    return tables(result)._repr_html_() if result.cells else None


@_fragment(Replay, "replay_fragment.html.j2")
def _replay(result: Replay) -> dict[str, Any]:
    lanes = []
    for recording in result.recordings:
        steps = list(zip(recording.steps, recording.returns, strict=True))
        lanes.append((recording, steps[:_MOST_STEPS], max(0, len(steps) - _MOST_STEPS)))
    return {"replay": result, "lanes": lanes}
