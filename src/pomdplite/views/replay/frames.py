"""A recording as the page's script reads it: one frame per step, and one for the end."""

import math
from collections.abc import Sequence
from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.experiments import Step
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.planners import Decision
from pomdplite.views.beliefs import true_values
from pomdplite.views.replay.images import can_paint, painting
from pomdplite.views.replay.panels import BeliefPanel
from pomdplite.views.replay.recording import Recording
from pomdplite.views.text import brief, effort, known_values, own_drawing

MOST_STEPS = 1_000  # of an episode that a page shows
_MOST_ACTIONS = 8  # whose values a step shows, the best ones
_DIGITS = 5


class Pool:
    """Pictures, each kept once; frames refer to them by number."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, uri: str | None) -> int | None:
        """The number of a picture."""
        return None if uri is None else self._numbers.setdefault(uri, len(self._numbers))

    @property
    def uris(self) -> list[str]:
        """All pictures by number."""
        return list(self._numbers)


def frames(recording: Recording, panels: Sequence[BeliefPanel], pool: Pool) -> list[dict[str, Any]]:
    """The frames of an episode, cut after MOST_STEPS steps; the last one shows what the last step led to."""
    model, steps = recording.planner.model, recording.steps[:MOST_STEPS]
    seen = [
        _situation(model, panels, pool, step.x, step.marginals, step.theta, picture)
        | _decided(step.decision)
        | _happened(step, total)
        for step, total, picture in zip(steps, recording.returns, recording.pictures, strict=False)
    ]
    if steps:
        last, cut = steps[-1], len(recording.steps) - len(steps)
        end = f"The other {cut:,} steps are not shown." if cut else recording.ending
        after = last.y, last.marginals_after, last.theta_after, recording.pictures[len(steps)]
        seen.append(_situation(model, panels, pool, *after) | {"end": end, "total": short(recording.returns[-1])})
    return seen


def short(number: float) -> float | None:
    """A number with the digits that a page shows; None if it is not finite."""
    return float(f"{number:.{_DIGITS}g}") if math.isfinite(number) else None


def _situation(
    model: Model, panels: Sequence[BeliefPanel], pool: Pool, x: Any, marginals: list[Floats], theta: Any,
    camera: str | None,
) -> dict[str, Any]:  # fmt: skip
    """The state, the belief and the truth."""
    found: dict[str, Any] = {
        "belief": [[short(number) for number in panel.numbers(marginals)] for panel in panels],
        "camera": pool.number(camera),
    }
    if theta is not None:
        values = true_values(model, theta)
        found["truth"] = [panel.truth(values) for panel in panels]
    if defined(model, "paint") is not None and can_paint():
        found["picture"] = pool.number(painting(model, x, marginals))
    elif defined(model, "draw") is not None:
        found["drawing"] = str(own_drawing(model, "draw", x, marginals))
    else:
        found["fields"] = [[name, _text(value)] for name, value in model.state.values(x).items()]
    return found


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _decided(decision: Decision) -> dict[str, Any]:
    """The action and the reasons for it."""
    known = known_values(decision)
    shown = known[:_MOST_ACTIONS]
    if all(row.action != decision.action for row in shown):
        shown += [row for row in known if row.action == decision.action]
    return {
        "action": decision.name,
        "values": [[row.name, short(row.q), short(row.reward), short(row.bonus)] for row in shown],
        "chosen": next((i for i, row in enumerate(shown) if row.action == decision.action), None),
        "legal": len(decision.solution.actions),
        "known": len(known),
        "line": decision.line,
        "effort": effort(decision),
        "notes": decision.notes,
    }


def _happened(step: Step, total: float) -> dict[str, Any]:
    return {"observation": brief(step.observation), "reward": short(step.reward), "total": short(total)}
