"""A study's file: SQLite, one row per episode, written when the episode ends.

Rows survive a crash of the program as soon as they are written (write-ahead log; a power failure may lose the last
ones). A row is identified by its cell and the episode's number and is written once; writing it again changes nothing,
so two programs may fill the same file.
"""

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.files import check_writable, database_errors_reported
from pomdplite.experiments.studies import rows
from pomdplite.experiments.studies.definition import StudyDefinition
from pomdplite.experiments.studies.provenance import machine, versions
from pomdplite.mdp.budget import CLOCKS

SCHEMA = 1  # version of the tables below; a file with a larger number is from a newer version
_APPLICATION = 0x504C5445  # "PLTE": SQLite's application_id of a study's file
_SETTINGS = "settings"  # key of the problems' constants in a run's machine facts
_LOCK_TIMEOUT = 60.0  # seconds to wait while another program writes
_KIND = "study"

_TABLES = Path(__file__).with_name("schema.sql")


class StudyHeader(NamedTuple):
    """What a file says about its study as a whole."""

    configuration: str  # as TOML
    title: str
    seed: int
    clock: str


class StudyProvenance(NamedTuple):
    """How the results in a file were produced, over all runs."""

    versions: dict[str, str]
    machine: dict[str, str]
    settings: dict[str, dict[str, str]]  # by problem


class StudyStore:
    """An open study file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path, self._db = path, connection

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open an existing file for reading."""
        path = Path(path)
        if not path.is_file():
            raise UsageError(f"no study file {path}.")
        # Without a write-ahead log nobody is writing; `immutable` then lets us read in a folder we may not write to.
        still = not path.with_name(path.name + "-wal").exists() and not os.access(path.parent, os.W_OK)
        uri = f"{path.absolute().as_uri()}?mode=ro{'&immutable=1' if still else ''}"
        with cls._connected(path, uri) as store:
            if not store._holds_study():
                raise UsageError(f"{path} is empty: it holds no study.")
        return store

    @classmethod
    def create(cls, path: str | Path, study: StudyDefinition) -> Self:
        """Open the study's file for writing: a new one, or one in which this study was started."""
        path = Path(path)
        check_writable(path)
        with cls._connected(path, f"{path.absolute().as_uri()}?mode=rwc") as store:
            if not store._holds_study():
                store._use_write_ahead_log()
                with store._transaction():
                    if not store._holds_study():  # another program may have been faster
                        store._create_tables(study)
            store._db.execute("PRAGMA synchronous = NORMAL")
            store._check_same_study(study)
            store._grow_to(study)
        return store

    @classmethod
    @contextmanager
    def _connected(cls, path: Path, uri: str) -> Iterator[Self]:
        """An open file to inspect; closed again on an error."""
        with database_errors_reported(path, _KIND):
            connection = sqlite3.connect(uri, timeout=_LOCK_TIMEOUT, isolation_level=None, uri=True)
            try:
                yield cls(path, connection)
            except BaseException:
                connection.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        with database_errors_reported(self.path, _KIND):
            self._db.close()

    def checkpoint(self) -> None:
        """Move all rows from the write-ahead log into the file itself, so that a copy of the file has them.

        SQLite does that when the last program closes the file, which need not be this one. Rows that another program
        is reading at this moment stay in the log.
        """
        with database_errors_reported(self.path, _KIND):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")

    # ------------------------------------------------------------------ writing

    def begin_run(self, place: dict[str, str], settings: dict[str, dict[str, str]]) -> None:
        """Record a run: versions, machine and `place` (workers or cluster), and the problems' constants."""
        where = {**machine(), **place, _SETTINGS: settings}
        row = (time.strftime("%Y-%m-%d %H:%M:%S%z"), json.dumps(versions()), json.dumps(where, ensure_ascii=False))
        self._execute("INSERT INTO runs VALUES (?, ?, ?)", row)

    def add(self, number: int, episodes: Sequence[Episode]) -> None:
        """Write those episodes of a cell that are not stored yet."""
        new = [
            (number, e.index, e.discounted, e.undiscounted, e.success, e.steps, e.cut, e.seconds, e.simulations,
             e.model_steps, json.dumps(e.notes, ensure_ascii=False))
            for e in episodes
        ]  # fmt: skip
        with database_errors_reported(self.path, _KIND):
            try:
                self._write(new)
            except KeyboardInterrupt:  # the episodes have been played: a Ctrl-C at this moment must not lose them
                self._write(new)
                raise

    def _write(self, new: list[tuple[Any, ...]]) -> None:
        with self._transaction():
            self._db.executemany("INSERT OR IGNORE INTO episodes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", new)

    def set_prepared(self, number: int, seconds: float, chosen: dict[str, Any]) -> None:
        """Record how long a cell's planner took to prepare, and what it chose; the first values are kept."""
        self._execute(
            "UPDATE cells SET preparation_seconds = coalesce(preparation_seconds, ?), chosen = coalesce(chosen, ?) "
            "WHERE cell = ?", (seconds, json.dumps(chosen), number),
        )  # fmt: skip

    def set_reason(self, number: int, reason: str) -> None:
        """Record why a cell cannot be played."""
        self._execute("UPDATE cells SET reason = ? WHERE cell = ? AND reason IS NULL", (reason, number))

    # ------------------------------------------------------------------ reading

    def reason(self, number: int) -> str | None:
        """Why a cell cannot be played; None if it can."""
        return self._execute("SELECT reason FROM cells WHERE cell = ?", (number,))[0][0]

    def episodes(self, number: int) -> tuple[Episode, ...]:
        """The stored episodes of a cell, in order."""
        found = self._execute(
            "SELECT episode, discounted, undiscounted, steps, seconds, success, cut, notes, simulations, "
            "model_steps FROM episodes WHERE cell = ? ORDER BY episode", (number,),
        )  # fmt: skip
        with database_errors_reported(self.path, _KIND):
            return tuple(map(rows.episode, found))

    def cells(self) -> list[rows.CellRow]:
        """The cells, in the study's order."""
        chosen = "chosen" if self._has_chosen() else "NULL"
        found = self._execute(
            f"SELECT cell, problem, planner, parameters, episodes, reason, preparation_seconds, {chosen} "
            "FROM cells ORDER BY cell"
        )
        with database_errors_reported(self.path, _KIND):
            return [rows.cell(expected, row) for expected, row in enumerate(found)]

    def header(self) -> StudyHeader:
        """The study's configuration, title, seed and clock."""
        found = self._execute("SELECT configuration, title, seed, clock FROM study")
        with database_errors_reported(self.path, _KIND):
            if len(found) != 1:
                raise rows.wrong("the number of studies", len(found))
            configuration, title, seed, clock = found[0]
            if clock not in CLOCKS:
                raise rows.wrong("the clock", clock)
            texts = rows.text("the configuration", configuration), rows.text("the title", title)
            return StudyHeader(*texts, rows.whole("the seed", seed, -(2**63)), clock)

    def provenance(self) -> StudyProvenance:
        """Versions, machines and constants of all runs."""
        runs = self._execute("SELECT versions, machine FROM runs ORDER BY rowid")
        settings: dict[str, dict[str, str]] = {}
        library_versions, machines = [], []
        with database_errors_reported(self.path, _KIND):
            for versions_json, machine_json in runs:
                library_versions.append(rows.from_json("a run's versions", versions_json, rows.is_facts))
                facts = rows.from_json("a run's machine", machine_json, lambda found: isinstance(found, dict))
                constants = facts.pop(_SETTINGS, {})
                if not (rows.is_facts(facts) and rows.is_settings(constants)):
                    raise rows.wrong("a run's machine", machine_json)
                machines.append(facts)
                settings |= constants
        return StudyProvenance(_merged(library_versions), _merged(machines), settings)

    def _execute(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        with database_errors_reported(self.path, _KIND):
            return self._db.execute(statement, values).fetchall()

    # ------------------------------------------------------------------ the file as a whole

    def _holds_study(self) -> bool:
        """Whether the file holds a study; False if it is new. Anything else is an error."""
        if self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0:
            return False
        if self._db.execute("PRAGMA application_id").fetchone()[0] != _APPLICATION:
            raise UsageError(f"{self.path} is a database, but not a study file.")
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > SCHEMA:
            raise UsageError(
                f"{self.path} was written by a newer version of pomdplite (format {version}; this one reads {SCHEMA})."
            )
        found = self._db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        return True

    def _use_write_ahead_log(self) -> None:
        """Switch to the write-ahead log; unlike other statements, this one does not wait for other programs."""
        deadline = time.monotonic() + _LOCK_TIMEOUT
        while True:
            try:
                self._db.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def _create_tables(self, study: StudyDefinition) -> None:
        for statement in _TABLES.read_text().split(";\n"):
            self._db.execute(statement)
        row = (study.toml(), study.title, study.seed, study.clock, json.dumps(_sources(study)))
        self._db.execute("INSERT INTO study VALUES (?, ?, ?, ?, ?)", row)
        self._db.executemany(
            "INSERT INTO cells (cell, problem, planner, parameters, episodes) VALUES (?, ?, ?, ?, ?)",
            [(n, c.problem, c.planner, json.dumps(c.parameters), c.episodes) for n, c in enumerate(study.cells)],
        )
        self._db.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._db.execute(f"PRAGMA user_version = {SCHEMA}")

    def _has_chosen(self) -> bool:
        """Whether the file has a column for what planners chose; files of earlier versions do not."""
        return "chosen" in [name for _, name, *_ in self._execute("PRAGMA table_info(cells)")]

    def _check_same_study(self, study: StudyDefinition) -> None:
        """Refuse a file of another study; titles and notes may differ, and there may be more episodes."""
        stored = [row.cell for row in self.cells()]
        header = self.header()
        sources = rows.from_json("the sources", self._execute("SELECT sources FROM study")[0][0], rows.is_facts)
        difference = _difference(header, stored, sources, study)
        if difference is not None:
            raise UsageError(f"{self.path} holds another study: {difference}. Choose another file.")
        for there, cell in zip(stored, study.cells, strict=True):
            if there.episodes > cell.episodes:
                raise UsageError(
                    f"{self.path} already asks for {there.episodes:,} episodes of {cell.label}, more than "
                    f"{cell.episodes:,}: ask for at least as many (--episodes), or choose another file."
                )

    def _grow_to(self, study: StudyDefinition) -> None:
        """Take over the study's number of episodes, if larger, and its title and notes; add what older files lack."""
        more = [(c.episodes, n, c.episodes) for n, c in enumerate(study.cells)]
        with self._transaction():
            if not self._has_chosen():
                self._db.execute("ALTER TABLE cells ADD COLUMN chosen TEXT")
            self._db.executemany("UPDATE cells SET episodes = ? WHERE cell = ? AND episodes < ?", more)
            self._db.execute(
                "UPDATE study SET configuration = ?, title = ? WHERE configuration <> ?",
                (study.toml(), study.title, study.toml()),
            )

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")


def _difference(
    header: StudyHeader, stored: Sequence[Cell], sources: dict[str, str], study: StudyDefinition
) -> str | None:
    """How a stored study differs from the given one; None if they are the same."""
    if header.seed != study.seed:
        return f"its seed is {header.seed}, not {study.seed}"
    if header.clock != study.clock:
        return f"its clock is {header.clock}, not {study.clock}"
    there, wanted = ({cell.key: cell for cell in cells} for cells in (stored, study.cells))
    for key, cell in wanted.items():
        if key not in there:
            return f"it does not contain {cell.label}"
    for key, cell in there.items():
        if key not in wanted:
            return f"it contains {cell.label}, which this study does not"
    if list(there) != list(wanted):
        return "its cells are in a different order"
    changed = [problem for problem, digest in _sources(study).items() if sources.get(problem) != digest]
    return f"{changed[0]}, or a module of yours that it imports, has changed" if changed else None


def _sources(study: StudyDefinition) -> dict[str, str]:
    """Digests of the users' own modules behind problems of the study, as they were loaded."""
    found = {cell.problem: cell.scenario.source for cell in study.cells}
    return {problem: digest for problem, digest in found.items() if digest is not None}


def _merged(runs: Sequence[dict[str, str]]) -> dict[str, str]:
    """The facts of all runs; where they differ, each distinct value once."""
    names = dict.fromkeys(name for run in runs for name in run)
    return {name: " / ".join(dict.fromkeys(run[name] for run in runs if name in run)) for name in names}
