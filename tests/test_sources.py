"""One study, one model: edits of the user's files during a run, between runs, and on a cluster."""

import pickle
import shutil
import sqlite3
import sys
from contextlib import closing
from types import SimpleNamespace

import pytest

import pomdplite as pl
from pomdplite.experiments.studies import cluster
from pomdplite.experiments.studies.cluster import ClusterPlayers
from pomdplite.problems import make_model, source_digest
from pomdplite.worlds import Scenario

MODEL = """\
import pomdplite as pl
{imports}
class Bet(pl.Model):
    hidden = pl.Hidden(coin=('heads', 'tails'))
    actions = ('call',)
    discount = 0.5
    horizon = 2
    compiled = False
    prize = {prize}
    def transition(m, x, theta, a, y): pass
    def reward(m, x, theta, a): return m.prize
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for a model's files; what they import is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, 1.0)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith("bets"):
            del sys.modules[name]


def write(folder, prize: float) -> None:
    (folder / "bet.py").write_text(MODEL.format(imports="", prize=prize))


def write_deep(folder, prize: float) -> None:
    """The same with the prize in a module that an imported module imports."""
    (folder / "bet.py").write_text(MODEL.format(imports="from bets.table import PRIZE", prize="PRIZE"))
    (folder / "bets").mkdir(exist_ok=True)
    (folder / "bets" / "__init__.py").write_text("")
    (folder / "bets" / "table.py").write_text("from . import numbers\nPRIZE = numbers.PRIZE\n")
    (folder / "bets" / "numbers.py").write_text(f"PRIZE = {prize}\n")


def study(*planners: str, episodes: int = 3) -> pl.Study:
    return pl.Study("t", ["bet.py:Bet"], planners or ("qmdp",), episodes=episodes)


def means(results: pl.Results) -> list[float]:
    return [r.evaluation(0).mean for r in results.cells]


def test_an_edit_during_a_run_changes_none_of_its_cells(folder):
    class Editing(pl.ProgressListener):
        def finished(self, cell):
            write(folder, 100.0)

    assert means(study("qmdp", "mean-mdp").run("s.db", workers=1, listener=Editing())) == [1.5, 1.5]


@pytest.mark.parametrize("edit", [write, write_deep])
def test_a_study_is_not_resumed_with_another_model(folder, edit):
    edit(folder, 1.0)
    study().run("s.db", workers=1)
    assert study(episodes=4).run("s.db", workers=1).missing == 0
    edit(folder, 100.0)
    with pytest.raises(pl.UsageError, match=r"bet.py:Bet, or a module of yours that it imports, has changed"):
        study(episodes=5).run("s.db", workers=1)
    edit(folder, 1.0)
    assert means(study(episodes=5).run("s.db", workers=1)) == [1.5]


def test_a_tuning_is_not_resumed_with_another_model(folder):
    pytest.importorskip("optuna")
    write_deep(folder, 1.0)
    tune = {"planner": "pomdp-lite", "params": {"beta": (1, 2)}, "out": "t.db", "episodes": 2}
    pl.tune("bet.py:Bet", trials=1, **tune)
    write_deep(folder, 100.0)
    with pytest.raises(pl.UsageError, match="the problem has changed"):
        pl.tune("bet.py:Bet", trials=2, **tune)


def test_a_model_is_loaded_with_what_its_modules_say_now(folder):
    """Both versions are written within a second and have the same length."""
    for prize in (1.0, 5.0, 2.0):
        write_deep(folder, prize)
        assert make_model("bet.py:Bet").prize == prize


def test_a_module_of_a_changed_package_is_reached_by_every_form_of_import(folder):
    forms = (
        "import bets.numbers as n",
        "from bets import numbers as n",
        "import bets.table as n",
        "import bets.numbers, bets\nn = bets.numbers",
    )
    for form in forms:
        for prize in (1.0, 5.0):
            write_deep(folder, prize)
            (folder / "bet.py").write_text(MODEL.format(imports=form, prize="n.PRIZE"))
            assert make_model("bet.py:Bet").prize == prize, form


def test_the_digest_is_that_of_what_was_loaded(folder):
    write_deep(folder, 1.0)
    make_model("bet.py:Bet")
    loaded = source_digest("bet.py:Bet")
    write_deep(folder, 2.0)
    assert source_digest("bet.py:Bet") == loaded
    make_model("bet.py:Bet")
    assert source_digest("bet.py:Bet") != loaded
    assert source_digest("tiger") is None


def test_two_models_of_a_file_are_from_one_version_of_it(folder):
    (folder / "bet.py").write_text((folder / "bet.py").read_text() + "class Other(Bet):\n    prize = 2.0\n")
    both = pl.Study("t", ["bet.py:Bet", "bet.py:Other"], ["qmdp"], episodes=2)

    class Pickling(pl.ProgressListener):
        def preparing(self, cell, planner):
            pickle.dumps(planner)  # fails if the file was executed again since

    assert means(both.run("s.db", workers=1, listener=Pickling())) == [1.5, 3.0]


# ------------------------------------------------------------------ on a cluster


def sent(source: str | None, problem: str) -> cluster._SentPlanner:
    planner = pl.Qmdp(make_model(problem))
    return cluster._SentPlanner(pickle.dumps(planner), Scenario(problem), source, f"name {source}", {})


def test_a_worker_with_another_version_refuses(folder):
    write_deep(folder, 1.0)
    problem = f"{folder / 'bet.py'}:Bet"
    make_model(problem)
    order = sent(source_digest(problem), problem)
    assert cluster._play(order, 0, [0])[0][0].discounted == 1.5
    cluster._cache.clear()
    write_deep(folder, 100.0)
    with pytest.raises(pl.PomdpLiteError, match=r"has another version of .*bet.py, or of a module that it imports"):
        cluster._play(order, 0, [0])


def result_of(error: Exception):
    players = ClusterPlayers.__new__(ClusterPlayers)
    return players._result(SimpleNamespace(status="error", exception=lambda: error))


def test_a_worker_without_the_models_file_is_an_error_and_not_a_result():
    pytest.importorskip("distributed")
    with pytest.raises(pl.PomdpLiteError, match=r"a worker cannot play: no file x.py") as caught:
        result_of(pl.UsageError("no file x.py."))
    assert not isinstance(caught.value, pl.UsageError)
    with pytest.raises(pl.TooLargeError):
        result_of(pl.TooLargeError("too large"))


# ------------------------------------------------------------------ what is a result, and what is not


def test_a_missing_policy_file_is_not_stored_as_a_result(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cells = [{"problems": ["tiger"], "planners": ["sarsop"], "sarsop": {"policy": "tiger.npz"}}]
    with_policy = pl.Study("t", cells=cells, episodes=2)
    with pytest.raises(pl.UsageError, match=r"no planner file tiger\.npz"):
        with_policy.run("s.db", workers=1)
    assert pl.Results.read("s.db").cells[0].reason is None
    pl.Sarsop(make_model("tiger"), solve_trials=5).save("tiger.npz")
    assert with_policy.run("s.db", workers=1).missing == 0


# ------------------------------------------------------------------ copies of the file


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_copy_of_the_file_alone_has_all_rows_after_a_run(tmp_path, interrupted):
    """Even if another program has the file open, in which case SQLite would leave them in the log."""
    path = tmp_path / "s.db"
    pl.Study("t", ["tiger"], ["qmdp"], episodes=1).run(path, workers=1)

    class Stopping(pl.ProgressListener):
        def played(self, cell, episodes):
            if interrupted and episodes[-1].index == 50:
                raise KeyboardInterrupt

    with closing(sqlite3.connect(path)) as reader:
        assert reader.execute("SELECT count(*) FROM rows").fetchone()[0] == 1
        longer = pl.Study("t", ["tiger"], ["qmdp"], episodes=80)
        if interrupted:
            with pytest.raises(KeyboardInterrupt):
                longer.run(path, workers=1, listener=Stopping())
        else:
            longer.run(path, workers=1)
        shutil.copy(path, tmp_path / "copy.db")
    assert len(pl.Results.read(tmp_path / "copy.db").cells[0].episodes) == (51 if interrupted else 80)
