"""Files and command lines that are wrong in thousands of ways are refused in a sentence, never with a traceback.

Every generator is seeded, and prints how many of its cases were refused and how many were still usable.
"""

import io
import os
import random
import shutil
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.cli.encoding import use_fallbacks
from pomdplite.cli.main import execute
from pomdplite.errors import PomdpLiteError
from pomdplite.views import text
from pomdplite.views.page import report_page
from pomdplite.views.tables import csv_text
from pomdplite.views.terminal import plain_text

DEEP, LONG = 2_000, "9" * 5_000
NASTY_TOML = (
    "", "0", "-1", "1.5", "nan", "-inf", "1e400", LONG, "9223372036854775808", "true", '"x"', '""', r'"\u0000"',
    "'x'", "[]", "[[]]", "{}", "[1, 'a']", "{ a = 1 }", f"0x{LONG}", "[[[[1]]]]", "1979-05-27", "07:32:00", "1979-05-27T07:32:00Z", "\0", "=",
    "[" * DEEP + "]" * DEEP, "{a=" * DEEP + "1" + "}" * DEEP, '["tiger"]', '["tiger", "tiger"]', '["qmdp"]', '"model"',
    '["tiger in moon"]', '["tiger in "]', '[" in model"]', '["x.py:"]', '[":"]', '[""]', '["rocksample-0-0-0"]',
    f'["battleship-{LONG}-2"]', f'["rocksample-{LONG}-1-1"]', '["battleship-3-99"]', '["rocksample-3-99-1"]',
    r'["a\u0000b.py:C"]', r'["\u0000"]', '"ü"',
)  # fmt: skip
NASTY_SQL = (
    None, "", "x", "\0", b"", b"\xff\x00", 0, -1, 1, 2**62, -(2**63), 0.5, -1.5, 1e308, float("inf"), float("-inf"),
    "null", "[]", "{}", "[1]", '{"a": 1}', '[["x"]]', '"x"', "[" * DEEP, "[" * DEEP + "]" * DEEP, LONG, f"[{LONG}]",
    '{"settings": 1}', '{"settings": {"tiger": 1}}', '{"settings": {"tiger": {"a": []}}}', "tiger in moon",
    "title = 1", "seed = 'x'", "[published.tiger]\nqmdp = 1", "[published]\ntiger = 1", "notes = 1", "notes = [1]",
    "published = 1", "publication = 3", "title = ", f"a = {'[' * DEEP}", f"a = {LONG}",
    '{"beta": [1]}', '{"beta": {"a": 1}}', '{"beta": null}', '{"": ""}', "{1: 2}", "nowhere.py:X",
)  # fmt: skip


def outcomes(count: int, what: str, case: Callable[[random.Random], None]) -> None:
    """Try `count` seeded cases; anything but a result or one of the library's errors is a failure."""
    refused, failures = 0, []
    for seed in range(count):
        try:
            case(random.Random(f"{what} {seed}"))
        except PomdpLiteError as error:
            refused += 1
            if not str(error).strip() or len(str(error)) > 1_500:
                failures.append((seed, f"a message of {len(str(error))} characters: {str(error)[:100]}"))
        except Exception as error:  # noqa: BLE001  the failure that this looks for
            failures.append((seed, f"{type(error).__name__}: {str(error)[:200]}"))
    print(f"{what}: {count:,} cases, {refused:,} refused, {count - refused - len(failures):,} usable")
    assert not failures, f"{len(failures)} of {count} failed; first {failures[:20]}"
    assert 0 < refused <= count


def sizes(fast: int, slow: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("count", [fast, pytest.param(slow, marks=pytest.mark.slow)])


def damaged_bytes(data: bytes, random: random.Random) -> bytes:
    """Truncated, emptied, with bytes changed, removed, repeated, or replaced by noise."""
    at, length = random.randrange(len(data)), random.randrange(1, 64)
    return random.choice(
        (
            data[:at], b"", data[:at] + random.randbytes(length) + data[at + length :], data[:at] + data[at + length :],
            data[: at + length] + data[at:], random.randbytes(length), b"\0" * length, data[at:],
        )
    )  # fmt: skip


# ---------------------------------------------------------------------- studies


STUDY = """title = "a study"
notes = ["a note"]
seed = 1
episodes = 3
clock = "wall"
sims = 5
publication = "paper"

[[cells]]
problems = ["tiger"]
planners = ["qmdp", "pomdp-lite"]
episodes = 2
options = {}
pomdp-lite = { beta = [1, 2], solver = "uct" }

[published.tiger]
qmdp = [1.0, 0.1, 0.5]
"""


def study_text(random: random.Random) -> bytes:
    """A study with a wrong value, key or line, or with damaged bytes."""
    lines = STUDY.splitlines()
    for _ in range(random.choice((1, 1, 2, 3))):
        at = random.randrange(len(lines))
        key, _, value = lines[at].partition("=")
        nasty = random.choice(NASTY_TOML)
        lines[at : at + 1] = random.choice(
            (
                [f"{key}= {nasty}"], [f"{key}= {nasty}"], [f"{key}= {nasty}"], [f"{nasty} ={value}"], [], [lines[at]] * 2,
                [f"[{nasty}]"], [f"[[{nasty}]]"], [f"{key}= [{nasty}]"], [f"{key}= {{ x = {nasty} }}"],
                [lines[at], "[cells]"], [f"{key.strip()}.a = {nasty}"], [lines[at], f"beta = {nasty}"],
            )
        )  # fmt: skip
    whole = "\n".join(lines).encode()
    return damaged_bytes(whole, random) if random.random() < 0.2 and whole else whole


@sizes(200, 4_000)
def test_studies(count, tmp_path):
    file = tmp_path / "study.toml"

    def case(random):
        file.write_bytes(study_text(random))
        pl.Study.read(file)

    outcomes(count, "studies", case)


# ---------------------------------------------------------------------- results


def damaged_database(file: Path, random: random.Random) -> None:
    """Change values, rows, columns, tables or settings of a database, or its bytes."""
    if random.random() < 0.2:
        file.write_bytes(damaged_bytes(file.read_bytes(), random))
        return
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        table = random.choice(tables)
        columns = [row[1] for row in db.execute(f'PRAGMA table_info("{table}")')]
        column, nasty = random.choice(columns), random.choice(NASTY_SQL)
        what = random.random()
        if what < 0.7:  # a wrong value, where constraints would not let it in
            rows = db.execute(f'SELECT * FROM "{table}"').fetchall()
            db.execute(f'DROP TABLE "{table}"')
            db.execute(f'CREATE TABLE "{table}" ({", ".join(columns)})')
            for number, row in enumerate(rows):
                changed = list(row)
                if number == 0 or random.random() < 0.3:
                    changed[columns.index(column)] = nasty
                db.execute(f'INSERT INTO "{table}" VALUES ({", ".join("?" * len(row))})', changed)
        elif what < 0.76:
            db.execute(f'DROP TABLE "{table}"')
        elif what < 0.84:
            db.execute(f'DELETE FROM "{table}"')
        elif what < 0.92:
            kept = [name for name in columns if name != column] or ["nothing"]
            db.execute(f'DROP TABLE "{table}"')
            db.execute(f'CREATE TABLE "{table}" ({", ".join(kept)})')
        else:
            setting = random.choice(("user_version", "application_id"))
            db.execute(f"PRAGMA {setting} = {random.choice((0, -1, 1, 7, 2**31 - 1))}")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("results") / "base.db"
    small_study().run(file, workers=1)
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
    return file


def small_study() -> pl.Study:
    cells = [{"problems": ["tiger"], "planners": ["qmdp", "pomdp-lite"], "pomdp-lite": {"beta": [1, 2]}}]
    return pl.Study(
        "small", cells=cells, episodes=3, notes=["n"], published={"tiger": {"qmdp": (1.0, 0.1)}}, publication="paper"
    )


@sizes(60, 3_000)
def test_results(count, results, tmp_path):
    file, study = tmp_path / "study.db", small_study()

    def case(random):
        for old in tmp_path.glob("study.db*"):
            old.unlink()
        shutil.copy(results, file)
        damaged_database(file, random)
        if random.random() < 0.2:
            study.run(file, workers=1)
        found = pl.Results.read(file)
        if not found.cells:
            raise PomdpLiteError("the command line refuses an empty study")
        plain_text(pl.tables(found))
        pl.tables(found).latex(), pl.tables(found).markdown(), csv_text(found)
        if random.random() < 0.3:
            report_page(found)

    outcomes(count, "results", case)


# ---------------------------------------------------------------------- tunings


@pytest.fixture(scope="module")
def tuning(tmp_path_factory) -> Path:
    pytest.importorskip("optuna")
    file = tmp_path_factory.mktemp("tuning") / "base.db"
    pl.tune("tiger", "pomdp-lite", {"beta": (0.1, 10, "log")}, 3, file, episodes=3)
    return file


@sizes(12, 300)
def test_tunings(count, tuning, tmp_path):
    file = tmp_path / "tuning.db"

    def case(random):
        shutil.copy(tuning, file)
        damaged_database(file, random)
        if random.random() < 0.15:
            pl.tune("tiger", "pomdp-lite", {"beta": (0.1, 10, "log")}, 3, file, episodes=3)
        found = pl.TuningResult.read(file)
        plain_text(text.tuning_table(found))
        list(text.tuning_summary(found))
        assert found.line

    outcomes(count, "tunings", case)


# ---------------------------------------------------------------------- policies


@pytest.fixture(scope="module")
def solved() -> pl.Sarsop:
    planner = pl.Sarsop(pl.Tiger(), solve_trials=20)
    planner.prepare()
    return planner


def policy_bytes(good: bytes, random: random.Random) -> bytes:
    """A policy with damaged bytes, or with arrays of wrong types, shapes, values or headers, or without some."""
    if random.random() < 0.4:
        return damaged_bytes(good, random)
    with np.load(io.BytesIO(good)) as file:
        arrays = {name: file[name] for name in file.files}
    name = random.choice(list(arrays))
    array = arrays[name]
    number = array if array.dtype.kind != "U" else np.zeros(3)
    arrays[name] = random.choice(
        (
            array[None], array.ravel(), array[..., None], array.astype("U8"), number.astype(complex), number.astype("M8[s]"),
            number.astype(np.int8), number.astype(np.float16), number.astype(bool), np.zeros(0), np.array("x"), np.float64(1),
            np.full_like(number, 99), number * 0 - 1.0, np.full(number.shape, np.nan), np.full(number.shape, np.inf),
            np.array({"a": 1}, dtype=object), np.zeros(2, [("a", "f8"), ("b", "i4")]), np.repeat(np.atleast_1d(array), 2, 0),
            np.atleast_1d(array)[:0], np.asfortranarray(array), array.astype(array.dtype.newbyteorder()), np.array("x" * 5000),
        )
    )  # fmt: skip
    if random.random() < 0.1:
        del arrays[name]
    packed = io.BytesIO()
    random.choice((np.savez, np.savez_compressed))(packed, allow_pickle=True, **arrays)
    if random.random() < 0.2:
        header = random.choice(
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999999999,)}", "(" * DEEP, "{}", "\0", "x",
             "{'descr': 'O', 'fortran_order': 1, 'shape': ()}", "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,)}",
             "{'descr': '<V9', 'fortran_order': False, 'shape': (2, 2)}")
        ).encode()  # fmt: skip
        with zipfile.ZipFile(packed, "a") as archive:
            entry = f"{name}.npy" if name not in arrays else "extra.npy"
            archive.writestr(entry, b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + b"\0" * 16)
    return packed.getvalue()


@sizes(60, 2_000)
def test_policies(count, solved, tmp_path):
    file, good = tmp_path / "policy.npz", tmp_path / "good.npz"
    solved.save(good)
    data = good.read_bytes()

    def case(random):
        file.write_bytes(policy_bytes(data, random))
        pl.load_planner(file, solved.model)

    outcomes(count, "policies", case)


def test_a_policy_that_unpacks_to_gigabytes_is_refused_by_its_directory(solved, tmp_path, monkeypatch):
    good, bomb = tmp_path / "good.npz", tmp_path / "bomb.npz"
    solved.save(good)
    with zipfile.ZipFile(good) as source, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as target:
        for name in set(source.namelist()) - {"own_value.npy"}:
            target.writestr(name, source.read(name))
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2000000, 2), }"
        target.writestr(
            "own_value.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(32_000_000)
        )
    read = zipfile.ZipExtFile.read

    def counted(self, n=-1):
        assert 0 <= n < 1_000_000, "it was unpacked"
        return read(self, n)

    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    assert bomb.stat().st_size < 100_000
    with pytest.raises(pl.UsageError, match=r"bomb\.npz holds 32 MB, more than the 1 MB allowed"):
        pl.Sarsop(solved.model, policy=str(bomb), memory=0.001).prepare()


# ---------------------------------------------------------------------- files that are no files, command lines


NASTY_WORDS = (
    "", " ", "\0", "-", "--", "---", "-1", "0", "1.5", "nan", "inf", "1e400", LONG, "x", "ü", "\udce9", "=", "a=", "=b", "a=b",
    "beta=", "beta=nan", "beta=[]", "beta={}", f"beta={LONG}", "beta=" + "[" * DEEP, "beta=null", "beta=true", 'beta="', "sims=-1",
    "solver=[1]", "policy=/", "policy=", "policy=\0", ":", ".py", "x.py:", ":x", "/:x", "/dev/null", ".", "/", "tiger:", "a\0b.py:C",
    "tiger", "rocksample-0-0-0", "rocksample-2-9-1", "battleship-1-1", f"battleship-{LONG}-1", f"rocksample-3-1-{LONG}", "table1",
    "beta=1:2", "beta=2:1", "beta=0:1:log", "beta=1:2:3:4", "beta=a:b", f"beta=1:{LONG}", "beta=1:1e400", "beta=nan:nan", "beta=,",
    "qmdp", "qmdp,qmdp", ",", "nobody", "qmdp,,", "wall", "moon", "FILE", "FOLDER", "FIFO", "NEW", "NOWHERE/x",
)  # fmt: skip
COMMANDS = {
    "list": (), "show": (), "check": (), "solve": ("--policy", "--time", "--precision"),
    "run": ("--planner", "--beta", "--seed", "--solver", "--time", "--sims", "--clock", "-o", "--world", "--workers", "--json"),
    "compare": ("--planners", "--seed", "--time", "--sims", "--clock", "-o", "--world", "--workers", "--json"),
    "watch": ("--planner", "--beta", "--seed", "--solver", "--time", "--sims", "-o", "--world", "--episode", "--video", "--html", "--planners"),
    "bench": ("--out", "--workers", "--episodes", "--list"),
    "report": ("--latex", "--markdown", "--csv", "--html"),
    "tune": ("--param", "--planner", "--trials", "--seed", "--time", "--sims", "--clock", "-o", "--world", "--out", "--plot"),
    "fly": (),
}  # fmt: skip


GOOD = {
    "--planner": "qmdp", "--planners": "qmdp,mean-mdp", "--beta": "2", "--seed": "3", "--solver": "exact", "--sims": "5",
    "--clock": "cpu", "-o": "beta=2", "--world": "model", "--workers": "1", "--episode": "1", "--precision": "0.5",
    "--param": "beta=1:2", "--trials": "1", "--out": "NEW.db", "--plot": "NEW.png", "--policy": "NEW.npz", "--html": "NEW.html",
    "--time": "0.01", "--episodes": "2", "--video": "NEW.gif",
}  # fmt: skip
FLAGS = ("--json", "--latex", "--markdown", "--csv", "--list")


@sizes(50, 1_000)
def test_command_lines(count, tmp_path, monkeypatch, capsys):
    use_fallbacks()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FOLDER").mkdir()
    (tmp_path / "FILE").write_text("text\n")
    os.mkfifo(tmp_path / "FIFO")

    def case(random):
        command = random.choice(list(COMMANDS))
        arguments = [command, random.choice(("tiger", "tiger", *NASTY_WORDS))]
        for _ in range(random.randrange(4)):
            option = random.choice((*COMMANDS[command], "--nothing"))
            value = GOOD.get(option, "x") if random.random() < 0.6 else random.choice(NASTY_WORDS)
            arguments += [option] if option in FLAGS else [option, value]
        if command in ("run", "compare", "tune"):
            arguments += ["--episodes", random.choice(("2", "2", "-1", "x", ""))]
        capsys.readouterr()
        code = execute(arguments)
        error = capsys.readouterr().err
        assert code in (0, 1, 2) and "Traceback" not in error, (code, error)
        assert (tmp_path / "FILE").read_text() == "text\n", "a file that is not its own was overwritten"
        if code:
            raise PomdpLiteError(error[:1_000] or "reported on the standard output")

    outcomes(count, "command lines", case)
