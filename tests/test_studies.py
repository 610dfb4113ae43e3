"""Studies: reading, running, interrupting, resuming."""

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.experiments.episodes.players import LocalPlayers, available_cores
from pomdplite.experiments.studies.study import shipped_studies

SMALL = """\
title = "small"
seed = 5
episodes = 400
sims = 100

[[cells]]
problems = ["tiger"]
planners = ["pomdp-lite", "qmdp"]
pomdp-lite = { solver = "uct" }

[[cells]]
problems = ["battleship-5-2"]
planners = ["sarsop", "pomdp-lite"]
episodes = 12
"""


def facts(results: pl.Results) -> list:
    """Everything but times."""
    return [
        (r.cell.key, r.reason, [(e.index, e.discounted, e.undiscounted, e.success, e.steps, e.cut, e.notes, e.simulations,
                                 e.model_steps) for e in r.episodes])
        for r in results.cells
    ]  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[Path, list]:
    """The small study's TOML, and what an uninterrupted run of it finds."""
    folder = tmp_path_factory.mktemp("small")
    (folder / "small.toml").write_text(SMALL)
    results = pl.Study.read(folder / "small.toml").run(folder / "whole.db", workers=1)
    assert results.missing == 0 and len(results.cells[0].episodes) == 400
    return folder / "small.toml", facts(results)


def bench(*arguments, **kwargs) -> subprocess.Popen:
    command = [sys.executable, "-m", "pomdplite.cli", "bench", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


def wait_for_rows(file: Path, count: int, process: subprocess.Popen) -> int:
    """Wait until the running program has stored so many episodes."""
    while process.poll() is None:
        try:
            there = sum(len(r.episodes) for r in pl.Results.read(file).cells)
        except pl.PomdpLiteError:  # not yet there
            there = 0
        if there >= count:
            return there
        time.sleep(0.02)
    raise AssertionError(f"ended before: {process.communicate()}")


def test_the_number_of_workers_changes_nothing(small, tmp_path):
    study, expected = small
    assert facts(pl.Study.read(study).run(tmp_path / "two.db", workers=2)) == expected


def test_a_study_is_what_evaluate_gives(small):
    _, expected = small
    alone = pl.evaluate("tiger", "pomdp-lite", episodes=400, seed=5, solver="uct", sims=100)
    assert [row[1] for row in expected[0][2]] == list(alone.returns)


def test_a_cell_that_cannot_be_played_says_why(small):
    _, expected = small
    assert [reason for _, reason, _ in expected] == [
        None,
        None,
        "Battleship: its hidden values cannot be listed.",
        None,
    ]
    assert expected[2][2] == [] and len(expected[3][2]) == 12


def test_a_study_killed_twice_and_resumed_gives_the_same_results(small, tmp_path):
    study, expected = small
    file = tmp_path / "killed.db"
    for rows in (30, 150):
        process = bench(study, "--out", file, "--workers", 2)
        stored = wait_for_rows(file, rows, process)
        process.kill()
        process.communicate()
        left = sum(len(r.episodes) for r in pl.Results.read(file).cells)
        assert stored <= left < 812
    assert facts(pl.Study.read(study).run(file, workers=1)) == expected


def test_resuming_plays_exactly_what_is_missing(tmp_path):
    class Counting(pl.ProgressListener):
        played_now = ()

        def played(self, cell, episodes):
            self.played_now += tuple(e.index for e in episodes)
            if len(self.played_now) == 7:
                raise KeyboardInterrupt

    study = pl.Study("t", ["tiger"], ["qmdp"], episodes=20)
    first, second, third = Counting(), Counting(), Counting()
    second.played_now = ()
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "t.db", workers=1, listener=first)
    assert pl.Results.read(tmp_path / "t.db").missing == 13
    with pytest.raises(KeyboardInterrupt):
        study.run(tmp_path / "t.db", workers=1, listener=second)
    study.run(tmp_path / "t.db", workers=1, listener=third)
    assert first.played_now + second.played_now + third.played_now == tuple(range(20))


def test_two_programs_on_one_file(small, tmp_path):
    study, expected = small
    file = tmp_path / "both.db"
    both = [bench(study, "--out", file, "--workers", 1) for _ in range(2)]
    for process in both:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and "small" in out, err
    assert facts(pl.Results.read(file)) == expected


def test_ctrl_c_prints_a_summary_and_the_command_to_resume(tmp_path):
    study, file = tmp_path / "long study.toml", tmp_path / "long.db"
    study.write_text(SMALL)
    process = bench(study, "--out", file, "--episodes", 1000000, "--workers", 2)
    wait_for_rows(file, 20, process)
    process.send_signal(signal.SIGTERM)  # as Ctrl-C, which whoever runs the tests may ignore
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in err
    assert "pomdp-lite" in out and "Episodes so far are in parentheses" in out
    stored = sum(len(r.episodes) for r in pl.Results.read(file).cells)
    assert f"interrupted; {stored:,} episodes are in" in " ".join(err.split())
    assert f"pomdplite bench '{study}' --out {file} --episodes 1000000 --workers 2" in err


def test_a_finished_study_says_so(small):
    study, _ = small
    process = bench(study, "--out", study.parent / "whole.db")
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and "already holds all 812 episodes" in err
    assert re.search(r"pomdp-lite .* ± .* ± ", out) and re.search(r"sarsop +–¹", out)
    assert "¹ Battleship: its hidden values cannot be listed." in out


def test_bench_lists_the_shipped_studies():
    out, _ = bench("--list").communicate(timeout=60)
    assert all(name in out for name in shipped_studies()) and "Table 1 of the paper" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("table7", "--out", "x.db"),
            "no study 'table7'; there are applications, beta, light-dark, pendulum, rivals, table1",
        ),
        (("nowhere.toml", "--out", "x.db"), "cannot read the study nowhere.toml: No such file"),
        (("table1",), "give a study and a file"),
        (("table1", "--out", "no/x.db"), "there is no folder no"),
        (("table1", "--out", "x.db", "--dask", "tcp://h:1", "-w", "2"), "the cluster's workers play"),
    ],
)
def test_bad_arguments_of_bench(arguments, message, tmp_path):
    process = bench(*arguments, cwd=tmp_path)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2 and message in err and len(err.strip().splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_budget_in_seconds_gets_no_more_workers_than_cores():
    class Notes(pl.ProgressListener):
        messages = ()

        def message(self, text):
            self.messages += (text,)

    for time_, sims, capped in ((0.001, None, True), (None, 5, False)):
        notes, model = Notes(), pl.Tiger()
        planner = pl.Pomcp(model, time=time_, sims=sims)
        planner.prepare()
        cell = pl.Study("t", ["tiger"], ["pomcp"], time=time_, sims=sims, episodes=4).cells[0]
        players = LocalPlayers(available_cores() + 1, notes)
        assert sorted(e.index for batch in players.play(cell, planner, 0, range(4)) for e in batch) == [0, 1, 2, 3]
        expected = f"pomcp has a time budget: using {available_cores()} workers, one per core"
        assert notes.messages == ((expected,) if capped else ())


# Reading


@pytest.mark.parametrize("name", shipped_studies())
def test_shipped_studies_can_be_read(name):
    study = pl.Study.named(name)
    assert study.title and study.cells and pl.Study.parse(study.toml()) == study


def test_table_1_is_the_papers():
    for name in ("table1", "table1-quick"):
        cells = pl.Study.named(name).cells
        assert len({(c.problem, c.planner) for c in cells}) == len(cells) == 36
        assert {c.planner for c in cells} == {"qmdp", "sarsop", "pomcp", "despot", "mean-mdp", "pomdp-lite"}
    assert all(c.episodes == 1000 and c.parameters.get("time", 1.0) == 1.0 for c in pl.Study.named("table1").cells)
    assert pl.Study.named("table1-short").published == pl.Study.named("table1").published


def test_the_untuned_study_gives_no_parameter_by_hand():
    cells = pl.Study.named("untuned").cells
    assert len({c.problem for c in cells}) == 28 and {"pomdp-lite", "pomdp-lite-plus"} < {c.planner for c in cells}
    for c in cells:
        given = {"beta": "auto"} if c.planner == "pomdp-lite" else {}
        budgets = {"time": 0.1, "solve_time": 60}
        assert {name: v for name, v in c.parameters.items() if name not in budgets or v != budgets[name]} == given


def test_a_product_with_sweeps():
    study = pl.Study.parse(
        """
        time = [0.1, 0.2]
        [[cells]]
        problems = ["tiger"]
        planners = ["pomdp-lite", "qmdp"]
        options = {}
        pomdp-lite = { beta = [1, 2.5] }
        [[cells]]
        problems = ["tiger"]
        planners = ["pomcp"]
        sims = 7
        episodes = 3
        """
    )
    assert [(c.planner, c.parameters, c.episodes) for c in study.cells] == [
        ("pomdp-lite", {"beta": 1, "time": 0.1}, 100),
        ("pomdp-lite", {"beta": 1, "time": 0.2}, 100),
        ("pomdp-lite", {"beta": 2.5, "time": 0.1}, 100),
        ("pomdp-lite", {"beta": 2.5, "time": 0.2}, 100),
        ("qmdp", {}, 100),
        ("pomcp", {"sims": 7}, 3),
    ]


def test_numpy_numbers_are_accepted(tmp_path):
    study = pl.Study("a", ["tiger"], ["pomdp-lite"], options={"beta": np.linspace(1, 30, 2)}, episodes=np.int64(2))
    assert study == pl.Study.parse(study.toml()) and hash(study) == hash(pl.Study.parse(study.toml()))
    assert [c.parameters["beta"] for c in study.cells] == [1.0, 30.0]
    assert "β = 30" in str(pl.tables(study.with_episodes(np.int64(3)).run(tmp_path / "s.db", workers=1)))
    swept = pl.Study("a", ["tiger"], ["pomcp"], sims=range(5, 15, 5))
    assert [c.parameters["sims"] for c in swept.cells] == [5, 10]


def test_every_string_survives_toml():
    for text in ("a\x7fb", 'say "x"', "a\\b\nc\t", "中文 ✓"):
        study = pl.Study(
            text, ["tiger"], ["qmdp"], notes=[text], publication=text, published={"tiger": {"qmdp": (1, 2)}}
        )
        assert pl.Study.parse(study.toml()) == study
    with pytest.raises(pl.UsageError, match="notes must be a list of strings"):
        pl.Study("a", ["tiger"], ["qmdp"], notes="hello")


GOOD = 'seed = 1\n\n[[cells]]\nproblems = ["tiger"]\nplanners = [\n    "qmdp",\n    "pomcp",\n]\nsims = 5\n'


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("seed = 1", "seed = ", 1, "Invalid value"),
        ("seed = 1", "seed = 1.5", 1, "seed must be a 64-bit integer"),
        ("seed = 1", "sed = 1", 1, "no key 'sed'; there are title, notes, seed"),
        ("seed = 1", "seed = 1\nclock = 'sun'", 2, "clock must be wall or cpu"),
        ("seed = 1", "seed = 1\nepisodes = 0", 2, "episodes must be an integer from 1 to"),
        ("seed = 1", "title = 3", 1, "title must be a string"),
        ("seed = 1", "[extra]\nbeta = 1", 1, "no key 'extra'"),
        ("seed = 1", "notes = 'a text'", 1, "notes must be a list of strings"),
        ("seed = 1", "publication = ''", 1, "publication must be a name"),
        ("seed = 1", "published = 3", 1, "published must be tables"),
        ("sims = 5", "sims = 5\n[published]\ntiger = 3", 11, "published.tiger must be a table"),
        ("sims = 5", "sims = 5\n\n[published.tiger]\ndespot = [1, 2]", 12, "which is not part of this study"),
        (
            "sims = 5",
            "sims = 5\n[published.tiger]\nqmdp = [1, 2]\npomcp = [1]",
            12,
            "published for pomcp must be [mean",
        ),
        ("sims = 5", "sims = 5\n[published.tiger]\nqmdp = [1, -2]", 11, "the standard error must not be negative"),
        ("sims = 5", "sims = 5\n[published.tiger]\nqmdp = [1, 2, 98]", 11, "the success rate must be from 0 to 1"),
        ("sims = 5", "sims = 5\n[published.tiger]\nqmdp = [nan, 2]", 11, "must be [mean"),
        ('"tiger"', '"tigger"', 4, "no problem 'tigger'"),
        ('"tiger"', '"tiger in gantry"', 4, "for grasp, not for Tiger"),
        ("sims = 5", "episodes = 100000000000", 9, "from 1 to 1,000,000,000"),
        ("sims = 5", "pomcp = { particles = [] }", 9, "particles must be a value or a list of values, not []"),
        ("sims = 5", "options = { model = 1 }", 9, "has no parameter 'model'"),
        ('["tiger"]', '"tiger"', 4, "problems must be a list of names"),
        ('"pomcp"', '"pomcap"', 7, "no planner 'pomcap'"),
        ("sims = 5", "sims = 0", 9, "sims must be at least 1"),
        ("sims = 5", "sims = 'many'", 9, "sims must be a whole number"),
        ("sims = 5", "sims = []", 9, "sims must be a number or a list"),
        ("sims = 5", "sims = 5\ntime = 1.0", 9, "not both"),
        ("sims = 5", "sims = 5\nsimms = 5", 10, "no key 'simms' in cells"),
        ("sims = 5", "episodes = true", 9, "episodes must be an integer"),
        ("sims = 5", "options = { beta = 3 }", 9, "planner qmdp has no parameter 'beta'"),
        ("sims = 5", "pomcp = { particles = 0 }", 9, "particles must be at least 1"),
        ("sims = 5", "[cells.pomcp]\nexploration = 1\nparticles = 'x'", 11, "particles must be a whole number"),
        ("sims = 5", "despot = { xi = 0.5 }", 9, "not among this block's planners"),
        ("sims = 5", "pomcp = 4", 9, "pomcp must be a table"),
        ("sims = 5", 'sims = 5\n[[cells]]\nproblems = ["tiger"]\nplanners = ["qmdp"]', 10, "appears twice"),
        ("sims = 5", 'sims = 5\n[[cells]]\nproblems = ["tiger"]', 10, "planners must be a list of names"),
    ],
)
def test_mistakes_in_a_study_are_reported_with_their_line(tmp_path, old, new, line, message):
    file = tmp_path / "my.toml"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new))
    with pytest.raises(pl.UsageError, match=rf"my\.toml, line {line}: .*{re.escape(message)}"):
        pl.Study.read(file)


def test_a_wrong_default_is_reported_with_its_line():
    with pytest.raises(pl.UsageError, match="the study, line 2: time must be a positive number"):
        pl.Study.parse('title = "t"\ntime = -1\n[[cells]]\nproblems = ["tiger"]\nplanners = ["pomcp"]\n')


def test_files_that_are_not_studies(tmp_path):
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(pl.UsageError, match="not a UTF-8 text file"):
        pl.Study.read(tmp_path / "bytes.toml")
    with pytest.raises(pl.UsageError, match="at least one"):
        pl.Study.parse("seed = 1\n")
    with pytest.raises(pl.UsageError, match=r"line \d+: "):
        pl.Study.parse('seed = 1\ntitle = "never ends\n')


def test_studies_in_python(tmp_path):
    study = pl.Study("t", ["tiger"], ["pomcp"], sims=[5, 6], options={"particles": 10}, episodes=3, seed=4)
    assert [c.parameters for c in study.cells] == [{"particles": 10, "sims": 5}, {"particles": 10, "sims": 6}]
    assert study == pl.Study(
        "t", cells=[{"problems": ["tiger"], "planners": ["pomcp"], "sims": [5, 6], "pomcp": {"particles": 10}}],
        episodes=3, seed=4,
    )  # fmt: skip
    for wrong, message in (
        ({}, "either problems and planners, or cells"),
        ({"problems": ["tiger"], "planners": ["oracle"]}, r"cells\[0\]: no planner 'oracle'"),
        ({"problems": [pl.Tiger()], "planners": ["qmdp"]}, "path.py:Tiger"),
        ({"problems": ["tiger"]}, "planners must be a list"),
    ):
        with pytest.raises(pl.UsageError, match=message):
            pl.Study("t", **wrong)
    with pytest.raises(pl.UsageError, match="workers must be at least 1"):
        study.run(tmp_path / "never.db", workers=0)
    assert not list(tmp_path.iterdir())
