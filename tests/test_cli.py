import json
import os
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

import pomdplite as pl
from pomdplite.cli.main import execute


def process(*arguments: str, code: int = 0, **kwargs) -> subprocess.CompletedProcess:
    """Run the program as a shell does."""
    done = subprocess.run([sys.executable, "-m", "pomdplite.cli", *arguments], capture_output=True, text=True, **kwargs)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture
def run(capsys):
    """Run the program in this process, which need not start, import and load kernels."""

    def run(*arguments: str, code: int = 0) -> SimpleNamespace:
        found = execute(list(arguments))
        said = capsys.readouterr()
        assert found == code, said.out + said.err
        return SimpleNamespace(stdout=said.out, stderr=said.err)

    return run


def test_a_process_prints_exits_and_fails_like_the_program_in_this_process(run):
    for arguments, code in ((("list",), 0), (("run", "tigger"), 2), ((), 0)):
        here, there = run(*arguments, code=code), process(*arguments, code=code)
        assert (here.stdout, here.stderr) == (there.stdout, there.stderr) and (here.stdout or here.stderr)


def test_list_names_problems_planners_and_worlds(run):
    text = run("list").stdout
    for name in ("tiger", "rocksample-20-20", "pomdp-lite", "mean-mdp", "bayes-optimal", "gantry"):
        assert name in text


def test_without_a_command_the_help_is_printed(run):
    bare = run()
    assert "Usage:" in bare.stdout and "compare" in bare.stdout and bare.stderr == ""
    assert bare.stdout.split("Commands")[1] == run("--help").stdout.split("Commands")[1]
    assert run("--version").stdout.strip() == pl.__version__


def test_run_prints_one_json_object(run):
    one, two = (
        json.loads(
            run("run", "tiger", "--beta", "30", "--episodes", "300", "--seed", "1", "--workers", w, "--json").stdout
        )
        for w in ("1", "2")
    )
    assert one["problem"] == "tiger" and one["planner"] == "pomdp-lite" and one["parameters"]["beta"] == 30
    assert one["episodes"] == 300 and one["seed"] == 1 and one["version"]
    assert abs(one["mean"] - 3.77) < 4 * one["stderr"]
    low, high = one["ci95"]
    assert low < one["mean"] < high and one["steps_mean"] > 3 and one["seconds_per_step"] > 0
    for key in ("mean", "stderr", "ci95", "steps_mean"):
        assert one[key] == two[key]


def test_a_single_episode_has_no_standard_error(run):
    assert json.loads(run("run", "tiger", "-n", "1", "--json").stdout)["stderr"] is None


def test_run_prints_a_table(run):
    text = run("run", "tiger", "--episodes", "50").stdout
    assert "95% interval" in text and "pomdp-lite" in text and "…" in text


def test_show_prints_sizes_and_a_drawing(run):
    text = run("show", "rocksample-7-8").stdout
    assert "12,545" in text and "256" in text and "13: north" in text and "[R]" in text and "5:50" in text
    assert "more than" in run("show", "rocksample-20-20").stdout
    finch = run("show", "gouldian-finch").stdout
    assert re.search(r"reachable observed states +2 *$", finch, re.M)  # it never ends
    assert re.search(r"observations +none *$", finch, re.M)


def test_watch_shows_every_step_and_saves_pictures(run, tmp_path):
    pytest.importorskip("matplotlib")
    text = run("watch", "tiger", "--seed", "3", "--pictures", str(tmp_path / "new" / "folder")).stdout
    steps = text.count("step ")
    assert steps >= 4 and "= reward" in text and "+ bonus" in text and "observed hear-" in text
    pictures = sorted((tmp_path / "new" / "folder").glob("*.png"))
    assert len(pictures) == text.count("value iteration:")
    assert all(p.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n" for p in pictures)


def test_check_passes_and_fails(run, tmp_path):
    assert "no mistakes found" in run("check", "tiger").stdout
    (tmp_path / "robot.py").write_text(
        "import pomdplite as pl\n"
        "class Robot(pl.Tiger):\n"
        "    def reward(m, x, theta, a):\n"
        "        return 0.0 / 0.0 if a == 1 else 1.0\n"
    )
    assert "reward raised ZeroDivisionError" in run("check", f"{tmp_path}/robot.py:Robot", code=1).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "tigger"), "no problem 'tigger'"),
        (("run", "tiger", "--planner", "oracle"), "no planner 'oracle'"),
        (("run", "tiger", "--episodes", "0"), "--episodes"),
        (("run", "tiger", "--beta", "much"), "--beta"),
        (("run", "tiger", "--beta", "-3"), "beta must be a number of at least 0"),
        (("run", "tiger", "--planner", "mean-mdp", "--beta", "3"), "no parameter 'beta'"),
        (("run",), "Missing argument"),
        (("fly",), "No such command"),
        (("run", "tiger", "--fast"), "--fast"),
        (("check", "nowhere.py:Robot"), "no file nowhere.py"),
        (("run", "tiger", "--solver", "magic"), "no solver 'magic'"),
        (("run", "tiger", "--time", "1", "--sims", "5"), "not both"),
        (("run", "tiger", "--time", "-1"), "time must be a positive number"),
        (("run", "tiger", "-o", "nodes"), "give name=value"),
        (("run", "tiger", "-o", "model=1"), "has no parameter 'model'"),
        (("run", "tiger", "--beta", "3", "-o", "beta=5"), "beta is given twice"),
        (("run", "tiger", "--seed", "99999999999999999999"), "'--seed'"),
        (("watch", "tiger", "--pictures", "/proc/nowhere"), "cannot write pictures to"),
    ],
)
def test_bad_arguments_get_one_line_and_code_2(run, arguments, message):
    lines = run(*arguments, code=2).stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("pomdplite: ") and message in lines[0]


def test_a_model_too_large_for_the_exact_solver_is_reported(run):
    line = run("run", "rocksample-20-20", "--solver", "exact", "-n", "1", code=1).stderr.strip().splitlines()[-1]
    assert "reachable states" in line and 'solver="uct"' in line


def test_an_interrupted_run_reports_what_was_done():
    for seconds in (8, 30, 90):  # on a busy machine the first episode may take long
        process = subprocess.Popen(
            [sys.executable, "-m", "pomdplite.cli", "run", "rocksample-7-8", "--episodes", "100000", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "80"},
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the test run itself may ignore it
        )  # fmt: skip
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if out:
            break
    assert process.returncode == 130 and "interrupted after" in err and "Traceback" not in err
    assert 0 < json.loads(out)["episodes"] < 100000


def test_compare_pairs_the_episodes_and_reports_planners_that_fail(run):
    arguments = ("compare", "rocksample-4-4", "--planners", "pomdp-lite,qmdp,mean-mdp", "--episodes", "60", "--json")
    found = json.loads(run(*arguments).stdout)
    first, qmdp, mean = found["planners"]
    assert first["difference"] is None and found["cannot"] == {}
    for other in (qmdp, mean):
        gap, error = other["difference"]
        assert abs(gap - (other["mean"] - first["mean"])) < 1e-9 and error > 0
        assert error <= other["stderr"] + first["stderr"] + 1e-9
    done = run("compare", "battleship-5-2", "--planners", "pomdp-lite,sarsop", "--episodes", "4", "--sims", "1")
    assert "battleship-5-2, 4 episodes" in done.stdout
    assert "sarsop: – Battleship: its hidden values cannot be listed." in done.stderr
    assert "planner.name=value" in run("compare", "tiger", "--planners", "qmdp", "-o", "beta=3", code=2).stderr
    assert "no planner 'nobody'" in run("compare", "tiger", "--planners", "nobody", code=2).stderr


def test_solve_saves_a_policy_that_run_takes(run, tmp_path):
    file = tmp_path / "tiger.npz"
    done = run("solve", "tiger", "--policy", str(file), "--time", "5")
    assert "value in [3.77" in done.stdout
    found = json.loads(run("run", "tiger", "-p", "sarsop", "-o", f"policy={file}", "-n", "200", "--json").stdout)
    best = json.loads(run("run", "tiger", "-p", "bayes-optimal", "-n", "200", "--json").stdout)
    assert found["mean"] == best["mean"]
    assert "no folder" in run("solve", "tiger", "--policy", str(tmp_path / "no" / "t.npz"), code=2).stderr
    file.write_bytes(b"not a policy")
    assert str(file) in run("run", "tiger", "-p", "sarsop", "-o", f"policy={file}", code=2).stderr


def test_a_parameter_of_the_wrong_type_is_reported(run):
    assert (
        "beta must be a number of at least 0, or \"auto\", not 'much'"
        in run("run", "tiger", "-o", "beta=much", code=2).stderr
    )
    assert "sims must be a whole number" in run("run", "tiger", "-p", "pomcp", "-o", "sims=1.5", code=2).stderr


def test_worlds_are_listed_and_chosen_by_name(run):
    assert "gantry" in run("list").stdout
    assert "no world 'moon'; there are model, gantry, jaco" in run("run", "grasp", "--world", "moon", code=2).stderr
    pytest.importorskip("mujoco")
    assert "a cup, for grasp, not for Tiger" in run("run", "tiger", "--world", "gantry", code=2).stderr
    played = json.loads(run("run", "grasp", "--world", "gantry", "-n", "2", "--json").stdout)
    assert played["problem"] == "grasp in gantry" and played["success_rate"] is not None


def test_a_world_without_its_extra_says_what_to_install(tmp_path):
    (tmp_path / "mujoco.py").write_text("raise ModuleNotFoundError('No module named mujoco', name='mujoco')\n")
    done = process("run", "grasp", "--world", "jaco", code=1, env=dict(os.environ, PYTHONPATH=str(tmp_path)))
    assert done.stderr.strip().endswith("pip install 'pomdplite[robot]'.")


def test_watch_writes_a_video(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert "must end in .gif or .mp4" in run("watch", "tiger", "--video", "out.avi", code=2).stderr
    assert "video in out.gif" in run("watch", "tiger", "--video", "out.gif").stdout
    assert (tmp_path / "out.gif").stat().st_size > 5_000
