"""A study's file: SQLite, one row per episode, written when the episode ends.

Rows survive a kill of the program as soon as they are written (write-ahead log; a power cut may take the last ones).
A row is named by its cell and the episode's number, and is written once: who comes second with it changes nothing, so
two programs may fill one file.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.studies.provenance import machine, versions
from pomdplite.experiments.studies.results import Cell, CellResult, Results
from pomdplite.experiments.studies.study import Study

SCHEMA = 1  # of the tables below; a file with a larger number is from a newer version
_APPLICATION = 0x504C5445  # "PLTE": what SQLite's header says that the file is for
_SETTINGS = "settings"  # among a run's facts about its machine
_PATIENCE = 60.0  # seconds to wait for another program's write

_TABLES = """
CREATE TABLE study (configuration TEXT NOT NULL, title TEXT NOT NULL, seed INTEGER NOT NULL, clock TEXT NOT NULL,
                    sources TEXT NOT NULL);
CREATE TABLE runs (started TEXT NOT NULL, versions TEXT NOT NULL, machine TEXT NOT NULL);
CREATE TABLE cells (cell INTEGER PRIMARY KEY, problem TEXT NOT NULL, planner TEXT NOT NULL, parameters TEXT NOT NULL,
                    episodes INTEGER NOT NULL, reason TEXT, preparation_seconds REAL);
CREATE TABLE episodes (cell INTEGER NOT NULL, episode INTEGER NOT NULL, discounted REAL NOT NULL,
                       undiscounted REAL NOT NULL, success INTEGER, steps INTEGER NOT NULL, cut INTEGER NOT NULL,
                       seconds REAL NOT NULL, simulations INTEGER NOT NULL, model_steps INTEGER NOT NULL,
                       notes TEXT NOT NULL, PRIMARY KEY (cell, episode)) WITHOUT ROWID;
CREATE VIEW rows AS
    SELECT problem, planner, parameters, seed, episode, discounted, undiscounted, success, steps, cut,
           seconds / max(steps, 1) AS seconds_per_step, simulations * 1.0 / max(steps, 1) AS simulations_per_step,
           model_steps * 1.0 / max(steps, 1) AS model_steps_per_step, notes
    FROM episodes JOIN cells USING (cell) JOIN study ORDER BY cell, episode;
"""


class Store:
    """An open file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._db = path, connection

    @classmethod
    def open(cls, path: str | Path) -> "Store":
        """A file that is there, to read."""
        path = Path(path)
        if not path.is_file():
            raise UsageError(f"no study's file {path}.")
        # Without a log beside it nobody is writing, and a file in a folder one may not write to can be read.
        still = not path.with_name(path.name + "-wal").exists() and not os.access(path.parent, os.W_OK)
        uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if still else ''}"
        with _connected(path, uri) as store:
            if not store._is_study():
                raise UsageError(f"{path} is empty: it holds no study.")
        return store

    @classmethod
    def create(cls, path: str | Path, study: Study) -> "Store":
        """The study's file to write to: a new one, or one that this study was begun in."""
        path = Path(path)
        check_writable(path)
        with _connected(path, f"{path.absolute().as_uri()}?mode=rwc") as store:
            if not store._is_study():
                store._use_log()
                with store._transaction():
                    if not store._is_study():  # another program may have been faster
                        store._begin(study)
            store._db.execute("PRAGMA synchronous = NORMAL")
            store._must_be_of(study)
            store._grow_to(study)
        return store

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: Any) -> None:
        with told(self.path):
            self._db.close()

    def begin_run(self, place: dict[str, str], settings: dict[str, dict[str, str]]) -> None:
        """Note who plays now, on what: versions, machine and `place`, and what the problems are made with."""
        where = {**machine(), **place, _SETTINGS: settings}
        row = (time.strftime("%Y-%m-%d %H:%M:%S%z"), json.dumps(versions()), json.dumps(where, ensure_ascii=False))
        with told(self.path):
            self._db.execute("INSERT INTO runs VALUES (?, ?, ?)", row)

    def add(self, number: int, episodes: Sequence[Episode]) -> None:
        """Write the episodes of a cell, those that are not there yet."""
        rows = [
            (number, e.index, e.discounted, e.undiscounted, e.success, e.steps, e.cut, e.seconds, e.simulations,
             e.model_steps, json.dumps(e.notes, ensure_ascii=False))
            for e in episodes
        ]  # fmt: skip
        with told(self.path):
            try:
                self._write(rows)
            except KeyboardInterrupt:  # the episodes have been played: they are not lost to a Ctrl-C just now
                self._write(rows)
                raise

    def _write(self, rows: list[tuple[Any, ...]]) -> None:
        with self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def set_prepared(self, number: int, seconds: float) -> None:
        """How long a cell's planner took to prepare; the first time counts."""
        with told(self.path):
            self._db.execute(
                "UPDATE cells SET preparation_seconds = ? WHERE cell = ? AND preparation_seconds IS NULL",
                (seconds, number),
            )

    def set_reason(self, number: int, reason: str) -> None:
        """Why a cell cannot be played."""
        with told(self.path):
            self._db.execute("UPDATE cells SET reason = ? WHERE cell = ? AND reason IS NULL", (reason, number))

    def reason(self, number: int) -> str | None:
        """Why a cell cannot be played, if it cannot."""
        with told(self.path):
            return self._db.execute("SELECT reason FROM cells WHERE cell = ?", (number,)).fetchone()[0]

    def episodes(self, number: int) -> tuple[Episode, ...]:
        """What is there of a cell, in order."""
        with told(self.path):
            rows = self._db.execute(
                "SELECT episode, discounted, undiscounted, steps, seconds, success, cut, notes, simulations, "
                "model_steps FROM episodes WHERE cell = ? ORDER BY episode", (number,),
            ).fetchall()  # fmt: skip
            return tuple(_episode(*row) for row in rows)

    def results(self) -> Results:
        """Everything that is there."""
        with told(self.path):
            configuration, title, seed, clock = self._db.execute(
                "SELECT configuration, title, seed, clock FROM study"
            ).fetchone()
            runs = self._db.execute("SELECT versions, machine FROM runs ORDER BY rowid").fetchall()
            cells = tuple(
                CellResult(row.cell, self.episodes(row.number), row.reason, row.preparation_seconds)
                for row in self._cells()
            )
            made_with, machines = ([json.loads(run[i]) for run in runs] for i in range(2))
            settings: dict[str, dict[str, str]] = {}
            for run in machines:
                settings |= run.pop(_SETTINGS, {})
            return Results(title, seed, clock, cells, configuration, _all_of(made_with), _all_of(machines), settings)

    def _is_study(self) -> bool:
        """Whether there is a study in the file; False if it is new. Anything else is refused."""
        if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            return False
        if self._db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise UsageError(f"{self.path} is a database, but not a study's.")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise UsageError(
                f"{self.path} was written by a newer version of pomdplite (format {version}; this one knows {SCHEMA})."
            )
        found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        return True

    def _use_log(self) -> None:
        """Write-ahead log; changing to it does not wait for another program as other statements do."""
        patience = time.monotonic() + _PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > patience:
                    raise
                time.sleep(0.05)

    def _begin(self, study: Study) -> None:
        for statement in _TABLES.split(";\n"):
            self._db.execute(statement)
        row = (study.toml(), study.title, study.seed, study.clock, json.dumps(_sources(study)))
        self._db.execute("INSERT INTO study VALUES (?, ?, ?, ?, ?)", row)
        self._db.executemany(
            "INSERT INTO cells (cell, problem, planner, parameters, episodes) VALUES (?, ?, ?, ?, ?)",
            [(n, c.problem, c.planner, json.dumps(c.parameters), c.episodes) for n, c in enumerate(study.cells)],
        )
        self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def _must_be_of(self, study: Study) -> None:
        """Refuse a file of another study; words do not matter, and there may be more episodes."""
        seed, clock, sources = self._db.execute("SELECT seed, clock, sources FROM study").fetchone()
        difference = None
        if seed != study.seed:
            difference = f"its seed is {seed}, not {study.seed}"
        elif clock != study.clock:
            difference = f"its clock is {clock}, not {study.clock}"
        else:
            difference = _difference([row.cell for row in self._cells()], study.cells)
        if difference is None:
            stored = json.loads(sources)
            changed = [problem for problem, source in _sources(study).items() if stored.get(problem) != source]
            difference = f"the file of {changed[0]} has changed since" if changed else None
        if difference is not None:
            raise UsageError(f"{self.path} holds another study: {difference}. Give another file.")
        for row, cell in zip(self._cells(), study.cells, strict=True):
            if row.cell.episodes > cell.episodes:
                raise UsageError(
                    f"{self.path} is for {row.cell.episodes:,} episodes of {_described(cell)} already, more than "
                    f"{cell.episodes:,}: ask for as many (--episodes), or give another file."
                )

    def _grow_to(self, study: Study) -> None:
        """Want more episodes of the same cells, if the study does, and take over its words."""
        more = [(c.episodes, n, c.episodes) for n, c in enumerate(study.cells)]
        with self._transaction():
            self._db.executemany("UPDATE cells SET episodes = ? WHERE cell = ? AND episodes < ?", more)
            self._db.execute(
                "UPDATE study SET configuration = ?, title = ? WHERE configuration <> ?",
                (study.toml(), study.title, study.toml()),
            )

    def _cells(self) -> list["_CellRow"]:
        """The cells, in the study's order."""
        return [
            _CellRow(number, Cell(problem, planner, json.loads(parameters), episodes), reason, seconds or 0.0)
            for number, problem, planner, parameters, episodes, reason, seconds in self._db.execute(
                "SELECT cell, problem, planner, parameters, episodes, reason, preparation_seconds FROM cells "
                "ORDER BY cell"
            )
        ]

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


class _CellRow(NamedTuple):
    """A cell as it stands in the file."""

    number: int
    cell: Cell
    reason: str | None
    preparation_seconds: float


def is_database(path: Path) -> bool:
    """Whether there is a database in a file, which nothing else may overwrite."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def check_writable(path: Path) -> None:
    """Refuse a file that cannot be written to."""
    if not path.parent.is_dir():
        raise UsageError(f"cannot write {path}: there is no folder {path.parent}.")
    if path.is_dir():
        raise UsageError(f"cannot write {path}: it is a folder.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise UsageError(f"cannot write {path}: no permission.")


@contextmanager
def told(path: Path, kind: str = "study") -> Iterator[None]:
    """What SQLite complains of, in words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise PomdpLiteError(f"cannot use {path}: {error}.") from None
    except sqlite3.DatabaseError as error:
        raise PomdpLiteError(f"{path} is damaged, or not a {kind}'s file: {error}.") from None


@contextmanager
def _connected(path: Path, uri: str) -> Iterator[Store]:
    """An open file, to look at; closed again if it is refused."""
    with told(path):
        connection = sqlite3.connect(uri, timeout=_PATIENCE, isolation_level=None, uri=True)
        try:
            yield Store(path, connection)
        except BaseException:
            connection.close()
            raise


def _episode(
    index: int,
    discounted: float,
    undiscounted: float,
    steps: int,
    seconds: float,
    success: int | None,
    cut: int,
    notes: str,
    simulations: int,
    model_steps: int,
) -> Episode:
    """An episode from its row."""
    succeeded = None if success is None else bool(success)
    said = tuple(json.loads(notes))
    return Episode(
        index, discounted, undiscounted, steps, seconds, succeeded, bool(cut), said, simulations, model_steps
    )  # fmt: skip


def _difference(stored: Sequence[Cell], given: Sequence[Cell]) -> str | None:
    """What other cells they are, in words; None if they are the same."""
    there, wanted = ({cell.key: cell for cell in cells} for cells in (stored, given))
    for key, cell in wanted.items():
        if key not in there:
            return f"it has no {_described(cell)}"
    for key, cell in there.items():
        if key not in wanted:
            return f"it has {_described(cell)}, which this one has not"
    return None if list(there) == list(wanted) else "its cells are in another order"


def _described(cell: Cell) -> str:
    parameters = ", ".join(f"{name} = {value}" for name, value in cell.parameters.items())
    return f"{cell.planner} on {cell.problem}" + (f" with {parameters}" if parameters else "")


def _sources(study: Study) -> dict[str, str]:
    """For problems from the user's own files, what is in those files."""
    found = {cell.problem: source_of(cell.problem) for cell in study.cells}
    return {problem: source for problem, source in found.items() if source is not None}


def source_of(problem: str) -> str | None:
    """A digest of the user's own file that a problem is from; None for those of the library."""
    file = Path(problem.rpartition(":")[0]).expanduser()
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.suffix == ".py" else None


def _all_of(runs: Sequence[dict[str, str]]) -> dict[str, str]:
    """The facts of all runs; where they differ, each value once."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: " / ".join(dict.fromkeys(run[name] for run in runs if name in run)) for name in names}
