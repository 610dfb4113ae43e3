"""Tuning: search for the parameters with which a planner earns most on a problem.

All trials play the same episodes, in rungs that double. After each rung, a trial that is worse than the best finished
one is abandoned. The test is the paired sign-flip test of studies (statistics.py), because returns are far from normal
and pairing separates values that means alone do not. But no test accounts for events that have not happened yet: on
Tiger a careful planner loses to a rash one on every episode but the rare −100, and 25 episodes may contain none. So a
trial is abandoned only if it would still be worse with such events counted: an event not seen in n episodes may have a
probability of 3/n (the rule of three), and may cost as much as the range of all returns. Without that, the best values
for Tiger were abandoned after 25 episodes. Optuna proposes the values and stores the trials.
"""

import time as clocks
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.players import CANNOT_PLAN, Batches, LocalPlayers, prepare_planner
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.experiments.statistics import paired_differences, sign_flip_p
from pomdplite.experiments.tuning.file import OpenTrial, TrialRecord, TuningFile
from pomdplite.experiments.tuning.space import Parameter, as_parameter, check_parameters
from pomdplite.experiments.tuning.tuning import Tuning, TuningResult, held_out_seed
from pomdplite.model.model import Model
from pomdplite.worlds import Scenario

TRIALS, EPISODES = 20, 200  # defaults
_LEVEL = 0.01  # significance level at which a trial is worse than the best one, per rung
_UNSEEN = 3.0  # rule of three: upper 95 % bound on the expected count of an event that was not seen
_WRITE_SECONDS = 1.0  # episodes are written at least this often


def tune(
    problem: str | Model,
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
    listener: ProgressListener | None = None,
) -> TuningResult:
    """Try values until the file `out` holds `trials` trials, and return its results.

    If β is tuned, β = auto plays the same episodes: `result.verdict` says whether the best values are better than that.

    `problem` is a name or a model object, which the file knows by its name and a digest of its functions and numbers.
    `params` says what to tune: {"beta": (0.1, 100, "log")}, or a list of choices instead of a range. `options` are the
    planner's other parameters, `time` or `sims` is the budget per step.
    """
    if trials < 1 or workers < 1:
        raise UsageError(f"trials and workers must be at least 1, not {trials} and {workers}.")
    parameters = [as_parameter(*p) for p in params.items()] if isinstance(params, Mapping) else params
    given = dict(options or {}) | {k: v for k, v in (("time", time), ("sims", sims)) if v is not None}
    if not isinstance(problem, (str, Model)):
        raise UsageError(f"tune needs a problem's name or a model object, not {problem!r}.")
    name, model = (problem, None) if isinstance(problem, str) else (problem.name, problem)
    scenario = Scenario(name, world, model)
    tuning = Tuning(scenario, planner, tuple(parameters), given, episodes, seed, clock)
    check_parameters(tuning.parameters, planner, tuning.model, given)
    with TuningFile.create(Path(out or default_file(name, planner, world)), tuning.configuration()) as file:
        listener = listener or ProgressListener()
        players = LocalPlayers(workers, listener)
        _play_missing(tuning, file, trials, players, listener)
        _play_reference(tuning, file, players, listener)
        return TuningResult.from_file(file)


def default_file(problem: str, planner: str, world: str = "model") -> Path:
    """The file of a tuning if the user does not name one."""
    name = Path(problem.replace(".py:", "-")).name
    place = "" if world == "model" else f"-in-{Path(world.replace('.py:', '-')).name}"
    return Path(f"tune-{name}{place}-{planner}.db")


def _play_missing(
    tuning: Tuning, file: TuningFile, trials: int, players: LocalPlayers, listener: ProgressListener
) -> None:
    """Try values until there are enough trials."""
    settled = [r for r in file.records(tuning.parameters) if r.state != "RUNNING"]
    wanted = trials + (tuning.reference is not None)
    played = min(trials, len(settled)) * tuning.episodes + len(file.reference().episodes)
    listener.started(wanted * tuning.episodes, played)
    tuning.scenario.constants(tuning.model)  # fails now if the world is not installed here
    for _ in range(len(settled), trials):
        before = [r for r in file.records(tuning.parameters) if r.state != "RUNNING"]
        trial = file.begin(tuning.parameters, tuning.seed)
        cell = tuning.cell(trial.values)
        try:
            _play_trial(tuning, trial, cell, before, players, listener)
        except CANNOT_PLAN as error:
            trial.fail(str(error))
            listener.failed(cell, str(error))


def _play_trial(
    tuning: Tuning,
    trial: OpenTrial,
    cell: Cell,
    before: Sequence[TrialRecord],
    players: LocalPlayers,
    listener: ProgressListener,
) -> None:
    """Play a trial rung by rung, until it is complete or worse than the best one before it."""
    _reuse_episodes(trial, before)
    planner, _ = prepare_planner(cell, tuning.model, tuning.clock, listener)
    listener.playing(cell, trial.episodes)
    best = max((r for r in before if r.state == "COMPLETE"), key=lambda r: _mean(r.episodes), default=None)
    known = [e for r in before for e in r.episodes]
    for rung in tuning.rungs:
        stored = {e.index for e in trial.episodes}
        missing = [i for i in range(rung) if i not in stored]
        if missing:
            batches = players.play(cell, planner, held_out_seed(tuning.seed), missing)
            _store_as_played(trial.add, cell, batches, listener)
        played = sorted((e for e in trial.episodes if e.index < rung), key=lambda e: e.index)
        trial.report(_mean(played), rung)
        if rung == tuning.episodes:
            trial.finish(_mean(played))
            listener.finished(cell)
        elif best is not None and _is_worse(played, best.episodes, _spread([*trial.episodes, *known])):
            trial.prune()
            listener.pruned(cell)
            return


def _play_reference(tuning: Tuning, file: TuningFile, players: LocalPlayers, listener: ProgressListener) -> None:
    """Play β = auto on the same episodes, if β is tuned and some trial has finished."""
    cell, stored = tuning.reference, file.reference()
    finished = any(r.state == "COMPLETE" for r in file.records(tuning.parameters))
    found = {e.index for e in stored.episodes}
    missing = [i for i in range(tuning.episodes) if i not in found]
    if cell is None or not finished or not missing or stored.reason is not None:
        return
    try:
        planner, chosen = prepare_planner(cell, tuning.model, tuning.clock, listener)
        listener.playing(cell, stored.episodes)
        batches = players.play(cell, planner, held_out_seed(tuning.seed), missing)
        _store_as_played(lambda episodes: file.add_to_reference(episodes, chosen), cell, batches, listener)
        listener.finished(cell)
    except CANNOT_PLAN as error:
        file.fail_reference(str(error))
        listener.failed(cell, str(error))


def _reuse_episodes(trial: OpenTrial, before: Sequence[TrialRecord]) -> None:
    """Take over the episodes of an earlier trial with the same values."""
    for record in before:
        if record.values == trial.values and not trial.episodes:
            trial.add(record.episodes)


def _store_as_played(
    add: Callable[[Sequence[Episode]], None], cell: Cell, batches: Batches, listener: ProgressListener
) -> None:
    """Store episodes as they finish, including those before an interruption."""
    waiting: list[Episode] = []
    written = clocks.monotonic()
    try:
        with closing(batches):
            for batch in batches:
                waiting += batch
                listener.played(cell, batch)
                if clocks.monotonic() - written > _WRITE_SECONDS:
                    add(waiting)
                    waiting, written = [], clocks.monotonic()
    finally:
        add(waiting)


def _is_worse(mine: Sequence[Episode], best: Sequence[Episode], spread: float) -> bool:
    """Whether a trial is worse than the best on these episodes, even with the events they may not have shown."""
    differences = paired_differences(mine, best)
    if not len(differences) or sign_flip_p(differences) >= _LEVEL:
        return False
    return bool(differences.mean() + _UNSEEN / len(differences) * spread < 0)


def _spread(episodes: Sequence[Episode]) -> float:
    """The range of returns."""
    returns = [e.discounted for e in episodes]
    return max(returns) - min(returns)


def _mean(episodes: Sequence[Episode]) -> float:
    return float(np.mean([e.discounted for e in episodes]))
