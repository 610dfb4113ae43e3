"""Tuning: what it finds, held-out episodes, abandoned trials, interrupting and resuming."""

import signal
import sqlite3
import subprocess
import sys
import time

import numpy as np
import pytest

import pomdplite as pl
from pomdplite import rng
from pomdplite.cli import main as cli
from pomdplite.experiments.tuning.file import TuningFile
from pomdplite.experiments.tuning.search import default_file
from pomdplite.experiments.tuning.space import Choice, Range, as_parameter, parse_parameter
from pomdplite.experiments.tuning.tuning import Tuning, held_out_seed
from pomdplite.planners import pomdp_lite
from pomdplite.views import text
from pomdplite.worlds import Scenario

pytest.importorskip("optuna")

BETA = {"beta": (0.1, 100, "log")}
EXACT = {"solver": "exact"}


def facts(result: pl.TuningResult) -> list:
    """Everything but times."""
    return [
        (t.number, t.values, t.pruned, t.alike, [(e.index, e.discounted, e.steps) for e in t.entry.result.episodes])
        for t in result.trials
    ]


@pytest.fixture(scope="module")
def tiger(tmp_path_factory):
    """A tuning of Tiger that was never stopped, and its file."""
    path = tmp_path_factory.mktemp("tiger") / "tiger.db"
    return pl.tune("tiger", params=BETA, trials=12, out=path, episodes=200, options=EXACT), path


@pytest.fixture
def command(monkeypatch, capsys):
    """The command line in this process: exit code, what it printed and what it complained of."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["pomdplite", "tune", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        said = capsys.readouterr()
        return stop.value.code, said.out, said.err

    return run


def test_finds_what_the_optimal_policy_needs(tiger):
    """Listening until one side is 3 ahead is Bayes-optimal on Tiger (3.770): β from about 17 to 95 does that."""
    result, _ = tiger
    assert 17 <= result.best.values["beta"] <= 97
    low, high = result.best.evaluation.ci95
    assert low < 3.77 < high
    (little,) = (t for t in result.trials if t.values["beta"] == 0.562)
    assert little.pruned and not little.alike and little.evaluation.mean < 0


def test_poor_trials_are_abandoned_and_good_ones_are_not(tiger):
    result, _ = tiger
    pruned = [t for t in result.trials if t.pruned]
    assert pruned and all(len(t.evaluation.episodes) < 200 and t.values["beta"] < 3 for t in pruned)
    finished = [t for t in result.trials if t.finished]
    assert len(finished) + len(pruned) == 12 and all(len(t.evaluation.episodes) == 200 for t in finished)


def test_the_first_trials_cover_the_range_whatever_their_number(tiger):
    result, _ = tiger
    assert [t.values["beta"] for t in result.trials[:5]] == [0.1, 100.0, 3.16, 0.562, 17.8]
    assert len({t.values["beta"] for t in result.trials[:9]}) == 9


def test_all_trials_meet_the_same_episodes(tiger):
    result, _ = tiger
    by_value = {t.values["beta"]: t.evaluation for t in result.trials}
    mine, other = by_value[17.8], by_value[42.2]  # the same policy
    assert np.array_equal(mine.returns, other.returns)
    alone = pl.evaluate("tiger", "pomdp-lite", 200, held_out_seed(0), beta=17.8, solver="exact")
    assert np.array_equal(alone.returns, mine.returns)


def test_held_out_seeds_are_those_of_no_evaluation():
    streams = {int(rng.stream(seed, i, k)[0]) for seed in range(1001) for i in range(3) for k in range(3)}
    for seed in (0, 1, 2**63 - 1):
        held = held_out_seed(seed)
        assert 2**63 <= held < 2**64  # and evaluations' seeds end at 2^63 − 1
        assert streams.isdisjoint(int(rng.stream(held, i, k)[0]) for i in range(3) for k in range(3))
    assert held_out_seed(0) != held_out_seed(1)
    with pytest.raises(pl.UsageError, match="seed must be an integer from 0"):
        pl.tune("tiger", params=BETA, seed=-1)


def test_the_file_is_read_back(tiger):
    result, path = tiger
    assert facts(pl.TuningResult.read(path)) == facts(result)


def test_a_tuning_stopped_twice_finds_the_same(tiger, tmp_path):
    whole, _ = tiger
    for trials in (3, 11, 12):
        result = pl.tune("tiger", params=BETA, trials=trials, out=tmp_path / "parts.db", episodes=200, options=EXACT)
    assert facts(result) == facts(whole)


def test_a_tuning_interrupted_in_a_trial_resumes_there(tiger, tmp_path):
    class Impatient(pl.ProgressListener):
        count = 0

        def played(self, cell, episodes):
            self.count += len(episodes)
            if self.count > 500:
                raise KeyboardInterrupt

    whole, _ = tiger
    arguments = {"params": BETA, "out": tmp_path / "stopped.db", "episodes": 200, "options": EXACT}
    with pytest.raises(KeyboardInterrupt):
        pl.tune("tiger", trials=12, listener=Impatient(), **arguments)
    left = pl.TuningResult.read(tmp_path / "stopped.db")
    assert sum(len(t.entry.result.episodes) for t in left.trials) == 501  # the third trial is under way
    assert "running" in [text._standing(t, False) for t in left.trials]
    assert facts(pl.tune("tiger", trials=12, **arguments)) == facts(whole)


def test_the_best_is_compared_with_auto_on_the_same_episodes(tiger):
    """What auto chooses for Tiger is as good as any β, so nothing can be better."""
    result, path = tiger
    verdict = result.verdict
    alone = pl.evaluate("tiger", "pomdp-lite", 200, held_out_seed(0), beta="auto", solver="exact")
    assert (
        np.array_equal(verdict.automatic.returns, alone.returns)
        and verdict.automatic.parameters["beta"] == alone.parameters["beta"]
    )
    assert verdict.difference == result.best.evaluation.difference(alone) and not verdict.better
    assert result.reference.cell.parameters == {"beta": "auto", "solver": "exact"}
    assert pl.TuningResult.read(path).verdict == verdict
    numbers = "3.67 ± 0.43 against 3.67 ± 0.43; paired difference 0.00 ± 0.00"
    assert text.tuning_summary(result)[-1] == f"not better than β = 38.6 (auto) ({numbers}): keep auto"


def test_a_tuning_that_beats_auto_says_so(tmp_path, monkeypatch):
    """An auto that chooses 0 never listens, which every trial beats."""
    chosen = []
    monkeypatch.setattr(pomdp_lite, "automatic_beta", lambda *_: chosen.append(0.0) or (0.0, "by mistake"))
    arguments = {"params": {"beta": [20, 30]}, "trials": 2, "out": tmp_path / "t.db", "episodes": 100, "options": EXACT}
    result = pl.tune("tiger", **arguments)
    assert result.verdict.better and result.verdict.difference.mean > 0
    assert text.tuning_summary(result)[-1].startswith("better than β = 0 (auto): ")
    assert (
        len(chosen) == 1 and facts(pl.tune("tiger", **arguments)) == facts(result) and len(chosen) == 1
    )  # it is stored


def test_an_interrupted_comparison_with_auto_resumes_there(tiger, tmp_path):
    class Impatient(pl.ProgressListener):
        count = 0

        def played(self, cell, episodes):
            self.count += len(episodes)
            if self.count > 150:
                raise KeyboardInterrupt

    params = {"beta": [30, 31]}
    arguments = {"params": params, "trials": 1, "out": tmp_path / "t.db", "episodes": 100, "options": EXACT}
    with pytest.raises(KeyboardInterrupt):
        pl.tune("tiger", listener=Impatient(), **arguments)
    left = pl.TuningResult.read(tmp_path / "t.db")
    assert len(left.reference.episodes) == 51 and left.verdict is None
    after = pl.tune("tiger", **arguments)
    whole = tiger[0].verdict.automatic.returns[:100]  # the same episodes
    assert np.array_equal(after.verdict.automatic.returns, whole)


def test_auto_is_no_reference_where_it_is_a_choice_or_beta_is_not_tuned():
    def reference(*parameters):
        return Tuning(Scenario("tiger"), "pomdp-lite", parameters, {"sims": 9}, 130, 0, "wall").reference

    beta, depth = Range("beta", 1, 2), Range("search_depth", 1, 2)
    assert reference(depth, beta).parameters == {"sims": 9, "beta": "auto"}
    assert reference(depth) is None and reference(Choice("beta", ("auto", 30))) is None


def test_auto_that_cannot_be_played_says_why(tmp_path):
    """The reason is stored, so that a resumed tuning does not try again."""
    result = pl.tune("tiger", params={"beta": [1, 2]}, trials=1, out=tmp_path / "t.db", episodes=5, options=EXACT)
    with TuningFile.create(tmp_path / "u.db", result.tuning.configuration()) as file:
        file.fail_reference("too large.")
    again = pl.tune("tiger", params={"beta": [1, 2]}, trials=1, out=tmp_path / "u.db", episodes=5, options=EXACT)
    assert again.verdict is None and again.reference.episodes == ()
    assert text.tuning_summary(again)[-1] == "not compared with β = auto: too large."


def test_a_killed_tuning_is_resumed(tiger, tmp_path):
    whole, _ = tiger
    path = tmp_path / "killed.db"
    command = [sys.executable, "-m", "pomdplite.cli", "tune", "tiger", "--param", "beta=0.1:100:log", "-o", "solver=exact",
               "--trials", "12", "--episodes", "200", "--out", str(path)]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while process.poll() is None:
        if path.exists() and len(pl.TuningResult.read(path).trials) >= 2:
            process.send_signal(signal.SIGKILL)
            break
        time.sleep(0.02)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert 2 <= len(pl.TuningResult.read(path).trials) < 12
    result = pl.tune("tiger", params=BETA, trials=12, out=path, episodes=200, options=EXACT)
    assert facts(result) == facts(whole)


def test_workers_change_nothing(tmp_path):
    results = [
        pl.tune("tiger", params=BETA, trials=4, out=tmp_path / f"{n}.db", episodes=60, options={"solver": "uct"}, sims=20, workers=n)
        for n in (1, 2)
    ]  # fmt: skip
    assert facts(results[0]) == facts(results[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"episodes": 60}, "episodes 50, not 60"),
        ({"seed": 3}, "seed 0, not 3"),
        ({"params": {"beta": (0.1, 10, "log")}}, "parameters beta=0.1:100:log, not beta="),
        ({"sims": 7}, "options solver = exact, not solver = exact, sims = 7"),
        ({"clock": "cpu"}, "clock wall, not cpu"),
        ({"problem": "rocksample-4-4"}, "problem tiger, not rocksample-4-4"),
    ],
)
def test_another_tuning_is_refused(tmp_path, change, said):
    arguments = {
        "problem": "tiger",
        "params": BETA,
        "trials": 1,
        "out": tmp_path / "t.db",
        "episodes": 50,
        "options": EXACT,
    }
    pl.tune(**arguments)
    with pytest.raises(pl.UsageError, match=f"holds another tuning: {said}"):
        pl.tune(**arguments | change)
    assert len(pl.tune(**arguments | {"trials": 2}).trials) == 2


def test_a_second_program_is_refused_while_one_fills_the_file(tmp_path):
    arguments = {"params": BETA, "trials": 1, "out": tmp_path / "t.db", "episodes": 5, "options": EXACT}
    refused = []

    class Second(pl.ProgressListener):
        def finished(self, cell):
            with pytest.raises(pl.UsageError, match=r"t\.db is being filled by another program"):
                pl.tune("tiger", **arguments)
            refused.append(cell)

    pl.tune("tiger", listener=Second(), **arguments)
    assert len(refused) == 2 and [p.name for p in tmp_path.iterdir()] == ["t.db"]
    assert len(pl.tune("tiger", **arguments).trials) == 1


def test_files_that_are_not_tunings(tmp_path):
    arguments = {"params": BETA, "trials": 1, "episodes": 50}
    (tmp_path / "text.db").write_text("no database " * 100)
    with pytest.raises(pl.PomdpLiteError, match=r"text\.db is damaged, or not a tuning file"):
        pl.tune("tiger", out=tmp_path / "text.db", **arguments)
    with sqlite3.connect(tmp_path / "other.db") as db:
        db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(pl.UsageError, match=r"other\.db is a database, but not a tuning file"):
        pl.tune("tiger", out=tmp_path / "other.db", **arguments)
    with pytest.raises(pl.UsageError, match="there is no folder"):
        pl.tune("tiger", out=tmp_path / "none" / "t.db", **arguments)
    with pytest.raises(pl.UsageError, match="no tuning file"):
        pl.TuningResult.read(tmp_path / "none.db")


def test_a_damaged_file(tiger, tmp_path):
    _, path = tiger
    content = bytearray(path.read_bytes())
    content[4096:12288] = b"\xff" * 8192
    (tmp_path / "bad.db").write_bytes(content)
    with pytest.raises(pl.PomdpLiteError, match=r"bad\.db"):
        pl.TuningResult.read(tmp_path / "bad.db")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("beta", "--param beta: give name=low:high"),
        ("beta=3", "--param beta=3: give a range low:high, or several comma-separated choices"),
        ("beta=5:1", "--param beta=5:1: the first number of a range must be the smaller one"),
        ("beta=0:1:log", "--param beta=0:1:log: a logarithmic range must begin above 0"),
        ("beta=1:10:lin", "--param beta=1:10:lin: low:high may only be followed by log, not 'lin'"),
        ("beta=a:b", "--param beta=a:b: the ends of a range must be numbers, not 'a'"),
        ("beta=-1:1", '--param beta=-1:1: beta must be a number of at least 0, or "auto", not -1'),
        ("betta=1:10", "--param betta=1:10: planner pomdp-lite has no parameter 'betta'"),
        (
            "search_depth=0.5:10",
            "--param search_depth=0.5:10: planner pomdp-lite: search_depth must be a whole number, not 0.5",
        ),
        ("solver=1:2", "--param solver=1:2: planner pomdp-lite: solver must be a word, not 1"),
        ("solver=exact,magic", "--param solver=exact,magic: no solver 'magic'"),
        ("solver=exact,exact", "without repetition"),
    ],
)
def test_parameters_that_cannot_be_tuned(command, tmp_path, given, said):
    code, _, complaint = command("tiger", "--param", given, "--out", tmp_path / "t.db")
    assert code == 2 and said in complaint and complaint.count("\n") == 1
    assert not (tmp_path / "t.db").exists()


def test_a_parameter_is_tuned_or_set_not_both(command, tmp_path):
    code, _, complaint = command("tiger", "--param", "beta=1:10", "-o", "beta=3", "--out", tmp_path / "t.db")
    assert code == 2 and "--param beta=1:10: beta cannot be both tuned and set to 3" in complaint


def test_ranges_and_choices():
    beta, depth = parse_parameter("beta=0.1:100:log"), Range("search_depth", 1, 4, whole=True)
    assert beta == Range("beta", 0.1, 100, log=True) and parse_parameter(beta.text) == beta
    assert as_parameter("beta", (0.1, 100.0, "log")).text == beta.text == "beta=0.1:100:log"
    assert beta.grid()[:3] == [0.1, 100.0, 3.16] and beta.rounded(12.3456) == 12.3
    assert Range("beta", 1000, 1001).rounded(1000.12345) == 1000.123
    assert depth.grid() == [1, 4, 2, 3] and all(isinstance(v, int) for v in depth.grid())
    solver = parse_parameter("solver=exact,uct")
    assert solver == Choice("solver", ("exact", "uct")) and solver.grid() == ["exact", "uct"]


def test_whole_numbers_and_choices_are_each_played_once(tmp_path):
    result = pl.tune(
        "tiger", params={"search_depth": (1, 3)}, trials=5, out=tmp_path / "search_depth.db", episodes=30, sims=30,
        options={"solver": "uct"},
    )  # fmt: skip
    played = [t.values["search_depth"] for t in result.trials]
    assert sorted(played) == [1, 2, 3]


def test_several_parameters_and_values_that_a_planner_cannot_take(tmp_path):
    """RockSample(4,4) is too large for the exact solver at a limit of 100 states: those trials say so."""
    result = pl.tune(
        "rocksample-4-4", params={"solver": ["exact", "uct"], "beta": (0.5, 2.0)}, trials=8, out=tmp_path / "two.db",
        episodes=30, sims=20, options={"limit": 100},
    )  # fmt: skip
    cannot = [t for t in result.trials if t.entry.result.reason]
    assert {t.values["solver"] for t in cannot} == {"exact"} and result.best.values["solver"] == "uct"
    figure = pl.plot(result)
    assert [axes.get_xlabel() for axes in figure.axes] == ["solver", "β, weight of exploration"]


def test_if_no_trial_can_finish_the_reason_is_told(command, tmp_path):
    code, _, complaint = command(
        "rocksample-4-4", "--param", "beta=1:2", "-o", "solver=exact", "-o", "limit=100", "--trials", 2,
        "--out", tmp_path / "t.db",
    )  # fmt: skip
    assert code == 1 and "no trial has finished: " in complaint and "limit" in complaint


@pytest.mark.parametrize(
    ("files", "message"),
    [(("--out", "tt.png"), "cannot be both the picture and the file"), (("--plot", "g.xyz"), "use one of .eps")],
)
def test_a_picture_that_cannot_be_is_refused_before_anything_is_played(command, tmp_path, monkeypatch, files, message):
    monkeypatch.chdir(tmp_path)
    code, _, complaint = command("tiger", "--param", "beta=1,30", "--trials", 1, "-n", 2, *files)
    assert code == 2 and message in complaint and not list(tmp_path.iterdir())


def test_the_command(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, printed, said = command(
        "tiger", "--param", "beta=0.1:100:log", "-o", "solver=exact", "--trials", 6, "-n", 200
    )
    assert code == 0 and "plot in tune-tiger-pomdp-lite.png" in said
    assert (tmp_path / "tune-tiger-pomdp-lite.db").exists()
    assert (tmp_path / "tune-tiger-pomdp-lite.png").read_bytes().startswith(b"\x89PNG")
    assert str(default_file("grasp", "pomcp", "jaco")) == "tune-grasp-in-jaco-pomcp.db"
    assert "best: β = 17.8 with" in printed and "pruned" in printed and "not significantly worse" in printed
    line = printed.splitlines()[-1]
    assert line == 'pomdp-lite = { beta = 17.8, solver = "exact" }'
    study = pl.Study.parse(f'[[cells]]\nproblems = ["tiger"]\nplanners = ["pomdp-lite"]\n{line}\n')
    assert study.cells[0].parameters == {"beta": 17.8, "solver": "exact"}


def test_ctrl_c_prints_how_to_resume(command, tmp_path, monkeypatch):
    from pomdplite.cli.progress import ProgressDisplay

    def stop(self, cell):
        raise KeyboardInterrupt

    monkeypatch.setattr(ProgressDisplay, "finished", stop)
    arguments = ["tiger", "--param", "beta=0.1:100:log", "--trials", 4, "-n", 50, "--out", tmp_path / "t.db"]
    code, printed, said = command(*arguments)
    assert (
        code == 130
        and f"interrupted; trials in {tmp_path / 't.db'}: 1. To resume:" in said
        and "best: β = 0.1" in printed
    )
    assert f"pomdplite tune tiger --param beta=0.1:100:log --trials 4 -n 50 --out {tmp_path / 't.db'}" in said


def test_without_optuna_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(pl.UsageError, match=r"tuning needs Optuna: pip install 'pomdplite\[tune\]'"):
        pl.tune("tiger", params=BETA, out=tmp_path / "t.db")


def test_without_matplotlib_there_is_no_plot_and_all_else(command, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    code, printed, said = command("tiger", "--param", "beta=10:30", "--trials", 1, "-n", 10, "--out", tmp_path / "t.db")
    assert (
        code == 0
        and "no plot: pictures need matplotlib" in said
        and printed.splitlines()[-1] == "pomdp-lite = { beta = 10.0 }"
    )


def test_invalid_python_parameters():
    with pytest.raises(pl.UsageError, match=r"params\['beta'\]: give \(low, high\)"):
        pl.tune("tiger", params={"beta": 3})
    with pytest.raises(pl.UsageError, match="name what to tune"):
        pl.tune("tiger")
    with pytest.raises(pl.UsageError, match="trials and workers must be at least 1"):
        pl.tune("tiger", params=BETA, trials=0)


def test_rungs_double_and_end_with_all():
    tuning = Tuning(Scenario("tiger"), "pomdp-lite", (Range("beta", 1, 2),), {}, 130, 0, "wall")
    assert tuning.rungs == [25, 50, 100, 130]


def test_a_model_object_is_tuned_like_its_name(tmp_path, monkeypatch):
    """The same trials; the file resumes with an equal object, refuses another one, and is read without either."""
    monkeypatch.chdir(tmp_path)
    arguments = {"params": BETA, "trials": 3, "episodes": 30, "options": EXACT}
    named = pl.tune("tiger", out="named.db", **arguments)
    tuned = pl.tune(pl.Tiger(), **arguments)
    assert facts(tuned) == facts(named) == facts(pl.tune(pl.Tiger(), **arguments))
    assert tuned.tuning.problem == "Tiger" and (tmp_path / "tune-Tiger-pomdp-lite.db").exists()
    assert facts(pl.TuningResult.read("tune-Tiger-pomdp-lite.db")) == facts(tuned)
    with pytest.raises(pl.UsageError, match="the problem has changed"):
        pl.tune(pl.Tiger(accuracy=0.7), **arguments)
    with pytest.raises(pl.UsageError, match="tune needs a problem's name or a model object, not 3"):
        pl.tune(3, **arguments)
