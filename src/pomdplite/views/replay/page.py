"""Replays as one self-contained HTML page; the folder `templates` has its HTML, CSS and script."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pomdplite.display import ShownInNotebooks
from pomdplite.errors import UsageError
from pomdplite.experiments.files import check_writable
from pomdplite.model.interface import defined
from pomdplite.views import jinja
from pomdplite.views.palette import DARK, LIGHT
from pomdplite.views.replay.frames import MOST_STEPS, Pool, frames, short
from pomdplite.views.replay.images import can_paint
from pomdplite.views.replay.panels import belief_panels
from pomdplite.views.replay.recording import Recording

_WITHOUT_PICTURES = "Matplotlib is not installed, so states are drawn as text."


@dataclass(frozen=True)
class LaneHeading:
    """What the page says about one episode before its steps."""

    planner: str
    choices: tuple[str, ...]  # what the planner uses, in words
    result: str
    notes: tuple[str, ...]


class Replay(ShownInNotebooks):
    """Recorded episodes of one model, side by side on one page: `Replay(recording).save("episode.html")`.

    title  heading of the page; default: the model's name
    about  a line below it, such as the seed
    """

    def __init__(self, *recordings: Recording, title: str = "", about: str = "") -> None:
        if not recordings or not all(isinstance(r, Recording) for r in recordings):
            raise UsageError("a Replay needs at least one Recording.")
        if not any(r.steps for r in recordings):
            raise UsageError("the recording has no steps to show.")
        names = {r.planner.model.name for r in recordings}
        if len(names) > 1:
            raise UsageError(f"a Replay shows episodes of one model, not of {' and '.join(sorted(names))}.")
        self.recordings = recordings
        self.title = title or recordings[0].planner.model.name
        self.about = about

    @property
    def parted(self) -> int | None:
        """The first step, from 0, at which not all planners did the same; None if there is none."""
        actions = [[step.decision.action for step in r.steps] for r in self.recordings]
        together = next((t for t, taken in enumerate(zip(*actions, strict=False)) if len(set(taken)) > 1), None)
        lengths = set(map(len, actions))
        return min(lengths) if together is None and len(lengths) > 1 else together

    @property
    def cut(self) -> str:
        """What the page leaves out, in a sentence; empty if it shows everything."""
        longest = max(len(r.steps) for r in self.recordings)
        return f"The page shows the first {MOST_STEPS:,} of {longest:,} steps." if longest > MOST_STEPS else ""

    def html(self) -> str:
        """The page."""
        jinja.require()
        notes = [note for note in (self.cut, self._without_pictures) if note]
        return jinja.render(
            "replay.html.j2",
            title=self.title,
            about=self.about,
            lanes=[_heading(r) for r in self.recordings],
            data=self._data(),
            notes=notes,
            light=LIGHT,
            dark=DARK,
        )

    def save(self, path: str | Path) -> None:
        """Write the page to a file."""
        file = Path(path)
        check_writable(file)
        page = self.html()
        try:
            file.write_text(page, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {file}: {error.strerror}.") from None

    def _data(self) -> str:
        """Everything that the script shows, as JSON in which no text can end the script element."""
        model, pool = self.recordings[0].planner.model, Pool()
        panels = belief_panels(model)
        lanes = [frames(r, panels, pool) for r in self.recordings]
        every = [frame for lane in lanes for frame in lane]
        panels = [
            panel.scaled([numbers for frame in every for numbers in _numbers(frame, i)])
            for i, panel in enumerate(panels)
        ]
        data = {
            "panels": [panel.layout() for panel in panels],
            "lanes": lanes,
            "pictures": pool.uris,
            "planners": [r.planner.title for r in self.recordings],
            "parted": self.parted if (self.parted or 0) < MOST_STEPS else None,
            "bonus": [any(row[3] for frame in lane for row in frame.get("values", ())) for lane in lanes],
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    @property
    def _without_pictures(self) -> str:
        paints = defined(self.recordings[0].planner.model, "paint") is not None
        return _WITHOUT_PICTURES if paints and not can_paint() else ""


def _numbers(frame: dict[str, Any], panel: int) -> list[list[float]]:
    """The numbers of a panel in a frame, with the true ones."""
    truth = frame.get("truth")
    known = truth[panel] if truth is not None and isinstance(truth[panel], list) else []
    return [[number for number in (*frame["belief"][panel], *known) if number is not None]]


def _heading(recording: Recording) -> LaneHeading:
    total = f"{short(recording.returns[-1]):g}" if recording.steps else "0"
    success = "" if recording.success is None else ", success" if recording.success else ", no success"
    count = len(recording.steps)
    result = f"return {total} in {count:,} step{'s' if count != 1 else ''}{success}"
    return LaneHeading(recording.planner.title, recording.planner.choices, result, recording.notes)
