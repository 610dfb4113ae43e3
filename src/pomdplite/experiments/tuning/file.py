"""A tuning's file: an Optuna study in SQLite, with the episodes of every trial beside Optuna's own entries.

The file appears whole, under its name, when its study has been written. Episodes are in it when they end, so a
program that was killed is gone on with in the middle of a trial. Optuna's tools, its dashboard among them, can read it.
One program at a time fills it: a lock beside the file, which ends with its program, refuses a second one.
"""

import dataclasses
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
from pomdplite.experiments.studies.store import check_writable, told
from pomdplite.experiments.tuning.space import Parameter

_NAME = "pomdplite"  # of the study in Optuna's tables
_CONFIGURATION, _EPISODES, _REASON = "configuration", "episodes", "reason"  # what is added to Optuna's entries
_STARTUP = 10  # trials before Optuna's sampler looks at what was found


@dataclass(frozen=True)
class Record:
    """A trial as it stands in the file."""

    number: int
    values: dict[str, Any]
    state: str  # Optuna's: RUNNING, COMPLETE, PRUNED, or FAIL where the planner cannot plan with these values
    episodes: tuple[Episode, ...]  # in order of their index
    reason: str | None  # why it cannot


class TuningFile:
    """An open file."""

    def __init__(self, path: Path, lock: sqlite3.Connection | None = None) -> None:
        self.path, self._lock = path, lock
        with told(path, "tuning"), _optuna(path) as optuna:
            _must_be_a_tuning(path)
            self._storage = _storage(optuna, path)
            try:
                self._study = optuna.load_study(study_name=_NAME, storage=self._storage)
                self.configuration: dict[str, Any] = self._study.user_attrs[_CONFIGURATION]
            except KeyError:
                self.close()
                raise UsageError(f"{path} holds an Optuna study, but not a tuning of pomdplite.") from None

    @classmethod
    def create(cls, path: Path, configuration: Mapping[str, Any]) -> "TuningFile":
        """The file to write to: a new one, or one that the same tuning was begun in."""
        check_writable(path)
        lock = _locked(path)
        try:
            if not path.exists() or path.stat().st_size == 0:
                _begin(path, configuration)
            file = cls(path, lock)
        except BaseException:
            _unlock(path, lock)
            raise
        for key, value in configuration.items():
            there = file.configuration.get(key)
            if there != value:
                file.close()
                difference = f"{key} {_in_words(there)}, not {_in_words(value)}"
                if key == "source":
                    difference = "the problem's file has changed since"
                raise UsageError(f"{path} holds another tuning: {difference}. Give another file.")
        return file

    def __enter__(self) -> "TuningFile":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._storage.remove_session()
        self._storage.engine.dispose()
        if self._lock is not None:
            _unlock(self.path, self._lock)

    def records(self, parameters: Sequence[Parameter]) -> list[Record]:
        """Every trial that has its values, in order."""
        with told(self.path, "tuning"), _optuna(self.path):
            return [
                Record(t.number, {p.name: p.suggest(t) for p in parameters}, t.state.name, _episodes(t.user_attrs),
                       t.user_attrs.get(_REASON))
                for t in self._study.get_trials(deepcopy=False)
                if len(t.params) == len(parameters)
            ]  # fmt: skip

    def begin(self, parameters: Sequence[Parameter], seed: int) -> "OpenTrial":
        """The next trial, or the one that was left unfinished.

        With one parameter the first trials cover its range; later ones are the sampler's. The sampler is seeded anew
        for each value, so that a tuning that was stopped goes on as if it had not been.
        """
        with told(self.path, "tuning"), _optuna(self.path) as optuna:
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
                number = int(rng.stream(seed, rng.TUNING, trial.number, i)[0] >> 32)  # 32 bits are all that it takes
                self._study.sampler = optuna.samplers.TPESampler(
                    seed=number, n_startup_trials=_STARTUP, multivariate=False, constant_liar=False
                )
                values[parameter.name] = parameter.suggest(trial)
            reported = set(open_[0].intermediate_values) if open_ else set()
            return OpenTrial(self.path, self._study, trial, values, reported)


class OpenTrial:
    """A trial under way."""

    def __init__(self, path: Path, study: Any, trial: Any, values: dict[str, Any], reported: set[int]) -> None:
        self._path, self._study, self._trial, self.values = path, study, trial, values
        self._reported = reported  # numbers of episodes that Optuna was told of before the program was stopped
        self.episodes = list(_episodes(trial.user_attrs))

    def add(self, episodes: Sequence[Episode]) -> None:
        """Write these episodes."""
        with told(self._path, "tuning"), _optuna(self._path):
            if episodes:
                rows = [list(dataclasses.astuple(e)) for e in episodes]
                self._trial.set_user_attr(f"{_EPISODES} {len(self.episodes)}", rows)
        self.episodes += episodes

    def report(self, mean: float, episodes: int) -> None:
        """Tell Optuna of a mean over so many episodes."""
        with told(self._path, "tuning"), _optuna(self._path):
            if episodes not in self._reported:
                self._trial.report(mean, episodes)

    def finish(self, mean: float) -> None:
        """All episodes are there."""
        self._tell(mean, "COMPLETE")

    def prune(self) -> None:
        """Give it up."""
        self._tell(None, "PRUNED")

    def fail(self, reason: str) -> None:
        """The planner cannot plan with these values."""
        with told(self._path, "tuning"), _optuna(self._path):
            self._trial.set_user_attr(_REASON, reason)
        self._tell(None, "FAIL")

    def _tell(self, mean: float | None, state: str) -> None:
        with told(self._path, "tuning"), _optuna(self._path) as optuna:
            self._study.tell(self._trial, mean, getattr(optuna.trial.TrialState, state))


@contextmanager
def _optuna(path: Path) -> Iterator[Any]:
    """Optuna, kept quiet; what it and its database complain of, in words."""
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
    except RuntimeError as error:  # tables of another version of Optuna
        raise PomdpLiteError(f"cannot use {path}: {error}") from None
    finally:
        optuna.logging.set_verbosity(before)


def _locked(path: Path) -> sqlite3.Connection:
    """A lock beside the file: a transaction, since SQLite's locks work everywhere and end with their program."""
    lock = sqlite3.connect(_lock_path(path), timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        raise UsageError(f"{path} is being filled by another program; wait for it, or give another file.") from None
    return lock


def _unlock(path: Path, lock: sqlite3.Connection) -> None:
    _lock_path(path).unlink(missing_ok=True)
    lock.close()


def _lock_path(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _begin(path: Path, configuration: Mapping[str, Any]) -> None:
    """A file with the study and no trial; it gets its name when it is complete."""
    new = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with told(path, "tuning"), _optuna(path) as optuna:
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


def _must_be_a_tuning(path: Path) -> None:
    """Look before Optuna does: it would write its tables into any database."""
    if not path.is_file():
        raise UsageError(f"no tuning's file {path}.")
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    if not {"studies", "trials", "trial_user_attributes"} <= tables:
        raise UsageError(f"{path} is a database, but not a tuning's.")


def _episodes(attributes: Mapping[str, Any]) -> tuple[Episode, ...]:
    """A trial's episodes, in order."""
    rows = [row for key, batch in attributes.items() if key.startswith(_EPISODES) for row in batch]
    fields = [f.name for f in dataclasses.fields(Episode)]
    found = [dict(zip(fields, row, strict=True)) for row in rows]
    return tuple(sorted((Episode(**e | {"notes": tuple(e["notes"])}) for e in found), key=lambda e: e.index))


def _in_words(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {v}" for k, v in value.items()) or "none"
    return " ".join(map(str, value)) if isinstance(value, list) else "none" if value is None else str(value)
