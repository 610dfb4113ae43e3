"""Pictures of states, beliefs and decisions, drawn with matplotlib (extra `plots`)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.experiments import Step
from pomdplite.model.interface import defined
from pomdplite.model.model import Model
from pomdplite.planners import Decision
from pomdplite.views.beliefs import belief_lines
from pomdplite.views.mpl import new_figure
from pomdplite.views.text import brief, known_values, own_drawing

_REWARD, _BONUS = "#4c78a8", "#f2a541"


def paint(model: Model, axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Draw the state and belief: the model's own picture if it has one, else the belief as bars."""
    if defined(model, "paint") is not None:
        own_drawing(model, "paint", axes, x, marginals)
        return
    lines = belief_lines(model, marginals)
    bars = [p if label is not None else 0.0 for _, label, p, _ in lines]  # a mean is written, since it has no scale
    axes.barh(np.arange(len(lines)), bars, color=_REWARD)
    axes.set_yticks(
        np.arange(len(lines)),
        [f"mean {one.name} = {one.mean}" if one.label is None else f"{one.name} = {one.label}" for one in lines],
    )
    axes.set(xlim=(0, 1), xlabel="belief")
    axes.set_title(brief(model.describe_state(x)), fontsize=9)
    axes.invert_yaxis()


def paint_decision(model: Model, axes: Any, decision: Decision, most: int = 8) -> None:
    """Draw the Q values of the best actions, each split into reward and bonus."""
    rows = known_values(decision)[:most]
    at = np.arange(len(rows))
    reward, bonus = np.array([r.reward for r in rows]), np.array([r.bonus for r in rows])
    axes.barh(at, reward, color=_REWARD, label="reward")
    axes.barh(at, bonus, left=np.where(reward > 0, reward, 0), color=_BONUS, label="bonus")
    names = [("→ " if r.action == decision.action else "") + r.name for r in rows]
    axes.set_yticks(at, names)
    for tick, row in zip(axes.get_yticklabels(), rows, strict=True):
        tick.set_fontweight("bold" if row.action == decision.action else "normal")
    ends = np.maximum(reward, 0) + np.maximum(bonus, 0)
    least, largest = min(0.0, float(reward.min())), float(ends.max())
    span = max(largest - least, 1e-9)
    for i, row in enumerate(rows):
        axes.text(ends[i] + 0.02 * span, i, f"{row.q:.2f}", va="center", fontsize=8)
    axes.set_xlim(left=least - 0.05 * span, right=largest + 0.2 * span)
    axes.invert_yaxis()
    axes.axvline(0, color="0.5", lw=0.8)
    axes.set_xlabel("Q = reward + bonus")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, fontsize=8, frameon=False)


def step_figure(model: Model, step: Step, camera_image: Any = None) -> Any:
    """One step: the state and belief before it, and the decision.

    With `camera_image`, the view of a camera after the step: that image, the state and belief after the step, and the
    decision.
    """
    if camera_image is None:
        figure = new_figure(10, 5)
        left, right = figure.subplots(1, 2, width_ratios=(1.2, 1))
        paint(model, left, step.x, step.marginals)
    else:
        figure = new_figure(13, 4.6)
        camera, left, right = figure.subplots(1, 3, width_ratios=(1.5, 1, 0.8))
        camera.imshow(camera_image)
        camera.axis("off")
        paint(model, left, step.y, step.marginals_after)
    paint_decision(model, right, step.decision)
    seen = brief(step.observation)
    figure.suptitle(f"step {step.t + 1}: {step.decision.name} → reward {step.reward:g}, observed {seen}")
    return figure


def pixels(figure: Any) -> Any:
    """A figure as an image: an array [height, width, 3] of bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[:, :, :3].copy()


def save_highlights(model: Model, steps: Sequence[Step], path: Path, title: str, most: int = 6) -> None:
    """Write the most telling steps of an episode to one picture."""
    chosen = highlights(steps, most)
    columns = 3 if len(chosen) > 2 else len(chosen)
    rows = -(-len(chosen) // columns)
    figure = new_figure(4.2 * columns, 4.2 * rows + 0.4)
    panels = np.atleast_1d(figure.subplots(rows, columns)).ravel()
    for axes, step in zip(panels, chosen, strict=False):
        paint(model, axes, step.x, step.marginals)
        happened = f"{step.decision.name}, reward {step.reward:g}, observed {brief(step.observation)}"
        axes.set_title(f"step {step.t + 1}: {happened}", fontsize=9)
    for axes in panels[len(chosen) :]:
        axes.axis("off")
    figure.suptitle(title)
    figure.savefig(path, dpi=110)


def highlights(steps: Sequence[Step], most: int) -> list[Step]:
    """The first and last step, and those between them with the largest rewards or changes of belief."""
    if len(steps) <= most:
        return list(steps)
    inner = list(steps[1:-1])

    def weight(step: Step) -> float:
        moved = sum(float(np.abs(a - b).sum()) for a, b in zip(step.marginals_after, step.marginals, strict=True))
        return abs(step.reward) + moved

    kept = sorted(sorted(inner, key=weight, reverse=True)[: most - 2], key=lambda s: s.t)
    return [steps[0], *kept, steps[-1]]
