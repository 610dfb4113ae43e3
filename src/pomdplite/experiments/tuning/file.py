"""A tuning's file: an Optuna study in SQLite, with the episodes of every trial stored next to Optuna's own entries.

The file is created atomically, together with its Optuna study. Episodes are written as they finish, so a program that
was killed can be resumed in the middle of a trial. Optuna's tools, such as its dashboard, can read the file. Only one
program at a time may fill it: a lock next to the file, released when its program ends, keeps out a second one.
"""

import dataclasses
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pomdplite import rng
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.files import check_writable, database_errors_reported
from pomdplite.experiments.studies import rows
from pomdplite.experiments.tuning.space import Parameter

_NAME = "pomdplite"  # of the study in Optuna's tables
_CONFIGURATION, _EPISODES, _REASON = "configuration", "episodes", "reason"  # user attributes in Optuna's tables
_CHOSEN = "chosen"  # likewise; with episodes and reason, of the study itself: those of β = auto
_STARTUP_TRIALS = 10  # random trials before Optuna's sampler uses the results so far
_KIND = "tuning"


@dataclass(frozen=True)
class TrialRecord:
    """A trial as it is stored in the file."""

    number: int
    values: dict[str, Any]
    state: str  # Optuna's: RUNNING, COMPLETE, PRUNED, or FAIL if the planner cannot plan with these values
    episodes: tuple[Episode, ...]  # in order of their index
    reason: str | None  # why the planner cannot plan with these values


@dataclass(frozen=True)
class ReferenceRecord:
    """What β = auto earned, as it is stored in the file."""

    chosen: dict[str, Any]  # its β; empty before the first episode
    episodes: tuple[Episode, ...]  # in order of their index
    reason: str | None  # why it cannot be played


class TuningFile:
    """An open tuning file."""

    def __init__(self, path: Path, lock: sqlite3.Connection | None = None) -> None:
        self.path, self._lock = path, lock
        with database_errors_reported(path, _KIND), _optuna(path) as optuna:
            _check_tuning_file(path)
            self._storage = _storage(optuna, path)
            try:
                self._study = optuna.load_study(study_name=_NAME, storage=self._storage)
                self.configuration: dict[str, Any] = self._study.user_attrs[_CONFIGURATION]
            except KeyError:
                self.close()
                raise UsageError(f"{path} holds an Optuna study, but not one of pomdplite.") from None

    @classmethod
    def create(cls, path: Path, configuration: Mapping[str, Any]) -> "TuningFile":
        """Open the file for writing: a new one, or one in which the same tuning was started."""
        check_writable(path)
        lock = _acquire_lock(path)
        try:
            if not path.exists() or path.stat().st_size == 0:
                _create(path, configuration)
            file = cls(path, lock)
        except BaseException:
            _release_lock(path, lock)
            raise
        for key, value in configuration.items():
            there = file.configuration.get(key)
            if there != value:
                file.close()
                difference = f"{key} {_described(there)}, not {_described(value)}"
                if key == "source":
                    difference = "the problem has changed (its file, a module of yours that it imports, or its numbers)"
                raise UsageError(f"{path} holds another tuning: {difference}. Choose another file.")
        return file

    def __enter__(self) -> "TuningFile":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and release the lock."""
        self._storage.remove_session()
        self._storage.engine.dispose()
        if self._lock is not None:
            _release_lock(self.path, self._lock)

    def records(self, parameters: Sequence[Parameter]) -> list[TrialRecord]:
        """Every trial whose values are set, in order."""
        with database_errors_reported(self.path, _KIND), _optuna(self.path):
            return [
                TrialRecord(t.number, {p.name: p.suggest(t) for p in parameters}, t.state.name, _episodes(t.user_attrs),
                       t.user_attrs.get(_REASON))
                for t in self._study.get_trials(deepcopy=False)
                if len(t.params) == len(parameters)
            ]  # fmt: skip

    def reference(self) -> ReferenceRecord:
        """What is stored of β = auto."""
        with database_errors_reported(self.path, _KIND), _optuna(self.path):
            stored = self._study.user_attrs
            chosen = stored.get(_CHOSEN, {})
            if not rows.is_parameters(chosen):
                raise rows.wrong("the chosen β", chosen)
            return ReferenceRecord(chosen, _episodes(stored), stored.get(_REASON))

    def add_to_reference(self, episodes: Sequence[Episode], chosen: Mapping[str, Any]) -> None:
        """Store these episodes of β = auto, and the β that was chosen."""
        with database_errors_reported(self.path, _KIND), _optuna(self.path):
            self._study.set_user_attr(_CHOSEN, dict(chosen))
            if episodes:
                count = len(_episodes(self._study.user_attrs))
                self._study.set_user_attr(f"{_EPISODES} {count}", _stored(episodes))

    def fail_reference(self, reason: str) -> None:
        """Store why β = auto cannot be played."""
        with database_errors_reported(self.path, _KIND), _optuna(self.path):
            self._study.set_user_attr(_REASON, reason)

    def begin(self, parameters: Sequence[Parameter], seed: int) -> "OpenTrial":
        """The next trial, or the unfinished one.

        With one parameter, the first trials cover its range; later ones come from the sampler. The sampler is seeded
        anew for each value, so that a resumed tuning continues as if it had not been stopped.
        """
        with database_errors_reported(self.path, _KIND), _optuna(self.path) as optuna:
            trials = self._study.get_trials(deepcopy=False)
            open_ = [t for t in trials if not t.state.is_finished()]
            if not open_ and len(parameters) == 1:
                for value in parameters[0].grid()[len(trials) : len(trials) + 1]:
                    self._study.enqueue_trial({parameters[0].name: value})
            if open_ and open_[0].state.name == "RUNNING":
                trial = optuna.trial.Trial(self._study, open_[0]._trial_id)
            else:
                trial = self._study.ask()
            values = {}
            for i, parameter in enumerate(parameters):
                number = int(rng.stream(seed, rng.TUNING, trial.number, i)[0] >> 32)  # the sampler takes 32 bits
                self._study.sampler = optuna.samplers.TPESampler(
                    seed=number, n_startup_trials=_STARTUP_TRIALS, multivariate=False, constant_liar=False
                )
                values[parameter.name] = parameter.suggest(trial)
            reported = set(open_[0].intermediate_values) if open_ else set()
            return OpenTrial(self.path, self._study, trial, values, reported)


class OpenTrial:
    """A trial under way."""

    def __init__(self, path: Path, study: Any, trial: Any, values: dict[str, Any], reported: set[int]) -> None:
        self._path, self._study, self._trial, self.values = path, study, trial, values
        self._reported = reported  # numbers of episodes already reported to Optuna, before an interruption
        self.episodes = list(_episodes(trial.user_attrs))

    def add(self, episodes: Sequence[Episode]) -> None:
        """Store these episodes."""
        with database_errors_reported(self._path, _KIND), _optuna(self._path):
            if episodes:
                self._trial.set_user_attr(f"{_EPISODES} {len(self.episodes)}", _stored(episodes))
        self.episodes += episodes

    def report(self, mean: float, episodes: int) -> None:
        """Report an intermediate mean over this number of episodes to Optuna."""
        with database_errors_reported(self._path, _KIND), _optuna(self._path):
            if episodes not in self._reported:
                self._trial.report(mean, episodes)

    def finish(self, mean: float) -> None:
        """Mark the trial as complete."""
        self._tell(mean, "COMPLETE")

    def prune(self) -> None:
        """Mark the trial as abandoned."""
        self._tell(None, "PRUNED")

    def fail(self, reason: str) -> None:
        """Mark the trial as failed: the planner cannot plan with these values."""
        with database_errors_reported(self._path, _KIND), _optuna(self._path):
            self._trial.set_user_attr(_REASON, reason)
        self._tell(None, "FAIL")

    def _tell(self, mean: float | None, state: str) -> None:
        with database_errors_reported(self._path, _KIND), _optuna(self._path) as optuna:
            self._study.tell(self._trial, mean, getattr(optuna.trial.TrialState, state))


@contextmanager
def _optuna(path: Path) -> Iterator[Any]:
    """Optuna with logging turned down; its and its database's errors become the library's."""
    try:
        import optuna
        import sqlalchemy.exc
    except ImportError:
        raise UsageError("tuning needs Optuna: pip install 'pomdplite[tune]'.") from None
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield optuna
    except (sqlalchemy.exc.SQLAlchemyError, optuna.exceptions.StorageInternalError) as error:
        cause = getattr(error, "orig", None) or error.__cause__ or error
        raise PomdpLiteError(f"cannot use {path}: {str(cause).splitlines()[0]}.") from None
    except (PomdpLiteError, sqlite3.Error):
        raise
    except RuntimeError as error:  # tables from a different version of Optuna
        raise PomdpLiteError(f"cannot use {path}: {error}") from None
    except Exception as error:  # noqa: BLE001  Optuna and Alembic raise anything if the tables hold what they should not
        raise PomdpLiteError(
            f"{path} is damaged: {type(error).__name__}: {' '.join(str(error).split())[:200]}."
        ) from None
    finally:
        optuna.logging.set_verbosity(before)


def _acquire_lock(path: Path) -> sqlite3.Connection:
    """A lock next to the file: an SQLite transaction, which works on every system and ends with its program."""
    lock = sqlite3.connect(_lock_path(path), timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        raise UsageError(f"{path} is being filled by another program; wait for it, or choose another file.") from None
    return lock


def _release_lock(path: Path, lock: sqlite3.Connection) -> None:
    _lock_path(path).unlink(missing_ok=True)
    lock.close()


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _create(path: Path, configuration: Mapping[str, Any]) -> None:
    """Create a file with the study and no trial; it is renamed into place when complete."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with database_errors_reported(path, _KIND), _optuna(path) as optuna:
            storage = _storage(optuna, new)
            study = optuna.create_study(study_name=_NAME, storage=storage, direction="maximize")
            study.set_user_attr(_CONFIGURATION, dict(configuration))
            storage.remove_session()
            storage.engine.dispose()
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)


def _storage(optuna: Any, path: Path) -> Any:
    return optuna.storages.RDBStorage(f"sqlite:///{path.absolute()}")


def _check_tuning_file(path: Path) -> None:
    """Raise unless the file holds a tuning: Optuna would write its tables into any database."""
    if not path.is_file():
        raise UsageError(f"no tuning file {path}.")
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    if not {"studies", "trials", "trial_user_attributes"} <= tables:
        raise UsageError(f"{path} is a database, but not a tuning file.")


def _stored(episodes: Sequence[Episode]) -> list[list[Any]]:
    """Episodes as the file stores them."""
    return [list(dataclasses.astuple(e)) for e in episodes]


def _episodes(attributes: Mapping[str, Any]) -> tuple[Episode, ...]:
    """A trial's episodes, in order."""
    stored = [row for key, batch in attributes.items() if key.startswith(_EPISODES) for row in batch]
    fields = [f.name for f in dataclasses.fields(Episode)]
    found = [dict(zip(fields, row, strict=True)) for row in stored]
    return tuple(sorted((_episode(**e) for e in found), key=lambda e: e.index))


def _episode(
    index: Any, discounted: Any, undiscounted: Any, steps: Any, seconds: Any, success: Any, cut: Any, notes: Any,
    simulations: Any, model_steps: Any,
) -> Episode:  # fmt: skip
    """An episode from what the file says, which is checked."""
    flags = None if success is None else int(success), int(cut)
    return rows.episode(
        (index, discounted, undiscounted, steps, seconds, *flags, json.dumps(notes), simulations, model_steps)
    )


def _described(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {v}" for k, v in value.items()) or "none"
    return " ".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)
