"""Tuning: the parameters of a planner with which it earns most on a problem.

All trials play the same episodes, in rungs that double. After each rung a trial that is worse, episode by episode, than
the best one finished so far is given up. The test is that of studies (statistics.py), because returns are far from
normal and pairing tells values apart that means alone do not; but no test sees what has not happened yet. On Tiger the
careful planner loses to the rash one on every episode but the rare −100, and after 25 episodes there may be none. So a
trial is given up only if it would still be worse with that counted: what was not seen in n episodes may have a
probability of 3/n (the rule of three), and may be as large as the range of all returns. Without that the best values of
Tiger were given up after 25 episodes. Optuna proposes the values and keeps the trials.

The episodes are held out: those of a seed that no evaluation can have (`held_out`).
"""

import time as clocks
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pomdplite import rng
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.evaluate import Evaluation, played_in
from pomdplite.experiments.episodes.parallel import plain_interrupts
from pomdplite.experiments.studies.results import Cell, CellResult
from pomdplite.experiments.studies.running import CANNOT, LocalPlayers, prepared, setting
from pomdplite.experiments.studies.statistics import paired_difference
from pomdplite.experiments.studies.store import source_of
from pomdplite.experiments.studies.study import toml_value
from pomdplite.experiments.studies.tables import BUDGETS, Entry, compared
from pomdplite.experiments.studies.watching import Watcher
from pomdplite.experiments.tuning.file import OpenTrial, Record, TuningFile
from pomdplite.experiments.tuning.space import Parameter, Range, as_parameter, fitted, parse_parameter
from pomdplite.mdp.budget import CLOCKS
from pomdplite.worlds import placed, planning_model

TRIALS, EPISODES = 20, 200  # where the user does not say
_FIRST_RUNG = 25  # episodes before a trial can be given up
_POOR = 0.01  # level at which a trial is told worse than the best one, at one rung
_UNSEEN = 3.0  # events that may be expected, at 95 %, of a kind that was not seen at all
_WRITE_SECONDS = 1.0  # episodes are written at least this often


def held_out(seed: int) -> int:
    """The seed of a tuning's episodes: drawn from the user's, with the highest of its 64 bits set.

    An evaluation's seed is a number that a person gives: one from 0 to 2⁶³ − 1 is never this one.
    """
    return int(rng.stream(seed, rng.TUNING)[0]) | 1 << 63


@dataclass(frozen=True)
class Tuning:
    """What is tuned, and how."""

    problem: str  # by name, with the world if it is not the model: "grasp in jaco"
    planner: str
    parameters: tuple[Parameter, ...]
    options: dict[str, Any]  # the planner's other parameters, the budget of a step among them
    episodes: int  # of a trial that is not given up
    seed: int  # the user's; the episodes are those of held_out(seed)
    clock: str  # what seconds mean: wall or cpu

    def __post_init__(self) -> None:
        if self.episodes < 2:
            raise UsageError(f"episodes must be at least 2, not {self.episodes}.")
        if self.seed < 0 or self.seed >= 2**63:
            raise UsageError(f"seed must be a whole number from 0 to 2^63 − 1, not {self.seed}.")
        if self.clock not in CLOCKS:
            raise UsageError(f"clock must be {' or '.join(CLOCKS)}, not {self.clock!r}.")
        if not self.parameters:
            raise UsageError("name what to tune, for example --param beta=0.1:100:log.")
        model = planning_model(*placed(self.problem))
        object.__setattr__(self, "parameters", fitted(self.parameters, self.planner, model, self.options))

    def configuration(self) -> dict[str, Any]:
        """What makes it another tuning if it changes, as the file keeps it."""
        return {
            "problem": self.problem, "planner": self.planner, "parameters": [p.text for p in self.parameters],
            "options": self.options, "episodes": self.episodes, "seed": self.seed, "clock": self.clock,
            "source": source_of(self.problem),
        }  # fmt: skip

    @classmethod
    def of(cls, configuration: Mapping[str, Any]) -> "Tuning":
        """The tuning that a file was begun with."""
        c = {name: value for name, value in configuration.items() if name != "source"}
        return cls(**c | {"parameters": tuple(parse_parameter(text) for text in c["parameters"])})

    def cell(self, values: Mapping[str, Any]) -> Cell:
        """A trial as the cell of a study."""
        return Cell(self.problem, self.planner, {**self.options, **values}, self.episodes)

    @property
    def rungs(self) -> list[int]:
        """Numbers of episodes after which a trial is looked at; the last is all of them."""
        rungs = [_FIRST_RUNG * 2**k for k in range(self.episodes.bit_length())]
        return [n for n in rungs if n < self.episodes] + [self.episodes]


@dataclass(frozen=True)
class Trial:
    """Values that were tried, and what came of them."""

    number: int
    values: dict[str, Any]
    entry: Entry  # its episodes, and for a finished trial how it compares to the best
    pruned: bool  # given up: worse than another

    @property
    def evaluation(self) -> Evaluation | None:
        """Returns and their statistics; None without episodes."""
        return self.entry.evaluation

    @property
    def finished(self) -> bool:
        """Whether all its episodes were played."""
        return self.entry.finished and self.entry.evaluation is not None

    @property
    def alike(self) -> bool:
        """Whether it is the best, or cannot be told from it."""
        return self.entry.best or self.entry.equal


@dataclass(frozen=True)
class TuningResult:
    """What a tuning found so far."""

    tuning: Tuning
    trials: tuple[Trial, ...]  # in the order of their trying; the same values once

    @classmethod
    def read(cls, path: str | Path) -> "TuningResult":
        """What a tuning's file holds, finished or not."""
        with TuningFile(Path(path)) as file:
            tuning = Tuning.of(file.configuration)
            return _result(tuning, file.records(tuning.parameters))

    @property
    def best(self) -> Trial:
        """The finished trial with the highest mean; of several with the same returns the middle one."""
        best = [t for t in self.trials if t.entry.best]
        if not best:
            reasons = [t.entry.result.reason for t in self.trials if t.entry.result.reason]
            raise PomdpLiteError(f"no trial has finished{f': {reasons[0]}' if reasons else '.'}")
        if len(self.tuning.parameters) == 1 and isinstance(self.tuning.parameters[0], Range):
            best.sort(key=lambda t: t.values[self.tuning.parameters[0].name])
            return best[len(best) // 2]
        return best[0]

    @property
    def alike(self) -> list[Trial]:
        """The best and all that cannot be told from it."""
        return [t for t in self.trials if t.alike]

    @property
    def line(self) -> str:
        """The best values as a line of a study's [[cells]]; the budget is the study's own to give."""
        options = {name: value for name, value in self.tuning.options.items() if name not in BUDGETS}
        given = {**self.best.values, **options}
        return f"{self.tuning.planner} = {{ {', '.join(f'{name} = {toml_value(v)}' for name, v in given.items())} }}"


def tune(
    problem: str,
    planner: str = "pomdp-lite",
    params: Mapping[str, Any] | Sequence[Parameter] = (),
    trials: int = TRIALS,
    out: str | Path | None = None,
    *,
    episodes: int = EPISODES,
    seed: int = 0,
    time: float | None = None,
    sims: int | None = None,
    clock: str = "wall",
    options: Mapping[str, Any] | None = None,
    world: str = "model",
    workers: int = 1,
    watcher: Watcher | None = None,
) -> TuningResult:
    """Try values until there are `trials` in the file `out`, and give what it then holds.

    `params` names what to tune: {"beta": (0.1, 100, "log")}, or a list of choices instead of a range. `options` are
    the planner's other parameters, `time` or `sims` the budget of a step.
    """
    if trials < 1 or workers < 1:
        raise UsageError(f"trials and workers must be at least 1, not {trials} and {workers}.")
    parameters = [as_parameter(*p) for p in params.items()] if isinstance(params, Mapping) else params
    given = dict(options or {}) | {k: v for k, v in (("time", time), ("sims", sims)) if v is not None}
    tuning = Tuning(played_in(problem, world), planner, tuple(parameters), given, episodes, seed, clock)
    with TuningFile.create(Path(out or default_file(problem, planner, world)), tuning.configuration()) as file:
        _fill(tuning, file, trials, workers, watcher or Watcher())
        return _result(tuning, file.records(tuning.parameters))


def default_file(problem: str, planner: str, world: str = "model") -> Path:
    """Where a tuning is kept if the user does not say."""
    name = Path(problem.replace(".py:", "-")).name
    place = "" if world == "model" else f"-in-{world}"
    return Path(f"tune-{name}{place}-{planner}.db")


def _fill(tuning: Tuning, file: TuningFile, trials: int, workers: int, watcher: Watcher) -> None:
    """Try values until there are enough trials."""
    settled = [r for r in file.records(tuning.parameters) if r.state != "RUNNING"]
    watcher.starting(trials * tuning.episodes, min(trials, len(settled)) * tuning.episodes)
    setting(tuning.cell({}).problem)  # an error now if its world cannot be made here
    players = LocalPlayers(workers, watcher)
    for _ in range(len(settled), trials):
        before = [r for r in file.records(tuning.parameters) if r.state != "RUNNING"]
        trial = file.begin(tuning.parameters, tuning.seed)
        cell = tuning.cell(trial.values)
        try:
            _try(tuning, trial, cell, before, players, watcher)
        except CANNOT as error:
            trial.fail(str(error))
            watcher.cannot(cell, str(error))


def _try(
    tuning: Tuning, trial: OpenTrial, cell: Cell, before: Sequence[Record], players: LocalPlayers, watcher: Watcher
) -> None:
    """Play a trial rung by rung, to its end or until it is worse than the best one before it."""
    _take_over(trial, before)
    with plain_interrupts():
        planner = prepared(cell, tuning.clock, watcher)
    watcher.playing(cell, trial.episodes)
    best = max((r for r in before if r.state == "COMPLETE"), key=lambda r: _mean(r.episodes), default=None)
    known = [e for r in before for e in r.episodes]
    for rung in tuning.rungs:
        there = {e.index for e in trial.episodes}
        missing = [i for i in range(rung) if i not in there]
        if missing:
            _play(trial, cell, players.play(cell, planner, held_out(tuning.seed), missing), watcher)
        played = sorted((e for e in trial.episodes if e.index < rung), key=lambda e: e.index)
        trial.report(_mean(played), rung)
        if rung == tuning.episodes:
            trial.finish(_mean(played))
            watcher.finished(cell)
        elif best is not None and _is_poor(played, best.episodes, _spread([*trial.episodes, *known])):
            trial.prune()
            watcher.pruned(cell)
            return


def _take_over(trial: OpenTrial, before: Sequence[Record]) -> None:
    """What was played with the same values is not played again."""
    for record in before:
        if record.values == trial.values and not trial.episodes:
            trial.add(record.episodes)


def _play(trial: OpenTrial, cell: Cell, batches: Any, watcher: Watcher) -> None:
    """Write episodes as they end, also those before an interruption."""
    waiting: list[Episode] = []
    written = clocks.monotonic()
    try:
        for batch in batches:
            waiting += batch
            watcher.played(cell, batch)
            if clocks.monotonic() - written > _WRITE_SECONDS:
                trial.add(waiting)
                waiting, written = [], clocks.monotonic()
    finally:
        trial.add(waiting)


def _is_poor(mine: Sequence[Episode], best: Sequence[Episode], spread: float) -> bool:
    """Whether a trial is worse than the best by these episodes, and would be with what they may not have shown."""
    difference = paired_difference(mine, best)
    if difference is None or difference.p >= _POOR:
        return False
    return difference.mean + _UNSEEN / difference.episodes * spread < 0


def _spread(episodes: Sequence[Episode]) -> float:
    """The range of returns."""
    returns = [e.discounted for e in episodes]
    return max(returns) - min(returns)


def _mean(episodes: Sequence[Episode]) -> float:
    return float(np.mean([e.discounted for e in episodes]))


def _result(tuning: Tuning, records: Sequence[Record]) -> TuningResult:
    """The trials, with those that finished compared to the best of them."""
    distinct: list[Record] = []
    for record in sorted(records, key=lambda r: -len(r.episodes)):
        if not any(record.values == other.values for other in distinct):
            distinct.append(record)
    distinct.sort(key=lambda r: r.number)
    finished = [r for r in distinct if r.state == "COMPLETE"]
    marked = dict(zip((r.number for r in finished), compared([_entry(tuning, r) for r in finished]), strict=True))
    trials = (
        Trial(r.number, r.values, marked.get(r.number) or _entry(tuning, r), r.state == "PRUNED") for r in distinct
    )
    return TuningResult(tuning, tuple(trials))


def _entry(tuning: Tuning, record: Record) -> Entry:
    result = CellResult(tuning.cell(record.values), record.episodes, record.reason)
    return Entry(result, result.evaluation(held_out(tuning.seed)) if record.episodes else None)
