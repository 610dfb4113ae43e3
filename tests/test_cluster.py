"""Studies on a cluster: a real scheduler and real workers on this machine, some of them killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from test_studies import bench, facts, wait_for_rows

import pomdplite as pl

distributed = pytest.importorskip("distributed", reason="needs dask.distributed: pip install 'pomdplite[cluster]'")

STUDY = {"title": "t", "problems": ["tiger"], "planners": ["pomdp-lite"], "seed": 4}


def study(episodes: int) -> pl.Study:
    return pl.Study(**STUDY, episodes=episodes, sims=3000, options={"solver": "uct"})


@contextmanager
def cluster(workers: int) -> Iterator[tuple[str, int, list[int]]]:
    """The address of a scheduler, its process id and those of its workers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    dask = [sys.executable, "-m", "dask"]
    scheduler = [*dask, "scheduler", "--host", address, "--no-dashboard", "--no-show"]
    worker = [*dask, "worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = [subprocess.Popen(command, **quiet) for command in (scheduler, *[worker] * workers)]
    try:
        wait_until(lambda: answers(address), "the scheduler answers")
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(workers, timeout=60)
        yield address, started[0].pid, [process.pid for process in started[1:]]
    finally:
        for process in started:
            process.kill()
            process.wait()


def answers(address: str) -> bool:
    host, port = address.removeprefix("tcp://").split(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def wait_until(true: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError(f"timed out waiting until {what}")


class KillOnce(pl.ProgressListener):
    """Kills a process when so many episodes are stored; counts those that came back."""

    def __init__(self, pid: int, after: int) -> None:
        self.pid, self.after, self.indices = pid, after, []

    def played(self, cell, episodes):
        self.indices += [e.index for e in episodes]
        if self.pid and len(self.indices) >= self.after:
            os.kill(self.pid, signal.SIGKILL)
            self.pid = 0


def test_a_killed_worker_costs_no_episode_and_none_is_played_into_the_file_twice(tmp_path):
    alone = study(300).run(tmp_path / "alone.db", workers=1)
    with cluster(workers=2) as (address, _, pids):
        listener = KillOnce(pids[0], after=40)
        spread = study(300).run(tmp_path / "spread.db", dask=address, listener=listener)
    assert listener.pid == 0 and sorted(listener.indices) == list(range(300))
    assert facts(spread) == facts(alone)
    assert spread.machine["cluster"] == address


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run_which_can_be_resumed(tmp_path):
    file, toml = tmp_path / "s.db", tmp_path / "s.toml"
    toml.write_text(study(600).toml())
    with cluster(workers=1) as (address, scheduler, _):
        process = bench(toml, "--out", file, "--dask", address)
        stored = wait_for_rows(file, 30, process)
        os.kill(scheduler, signal.SIGKILL)
        _, err = process.communicate(timeout=60)
    lines = err.strip().splitlines()
    assert (
        process.returncode == 1
        and lines[-1] == f"pomdplite: the connection to the dask scheduler at {address} is lost."
    )
    assert "Traceback" not in err and f"pomdplite bench {toml} --out {file} --dask {address}" in err
    left = pl.Results.read(file)
    assert stored <= 600 - left.missing < 600
    assert facts(study(600).run(file, workers=1)) == facts(study(600).run(tmp_path / "alone.db", workers=1))


@pytest.mark.slow
def test_offline_solutions_user_models_and_failing_planners_on_a_cluster(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.py").write_text(
        "import pomdplite as pl\nclass Robot(pl.Tiger):\n    '''A robot.'''\n    discount = 0.9\n"
    )
    cells = [
        {
            "problems": ["robot.py:Robot", "rocksample-4-4"],
            "planners": ["sarsop", "qmdp"],
            "sarsop": {"solve_trials": 10},
        },
        {"problems": ["battleship-5-2"], "planners": ["qmdp"]},
    ]
    momdp = pl.Study("mixed", cells=cells, episodes=10)
    with cluster(workers=1) as (address, _, _):
        spread = momdp.run(tmp_path / "spread.db", dask=address)
    assert facts(spread) == facts(momdp.run(tmp_path / "alone.db", workers=1))
    assert spread.cells[-1].reason == "Battleship: its hidden values cannot be listed."


@pytest.mark.slow
def test_a_worker_plays_with_the_version_that_the_study_was_started_with(tmp_path, monkeypatch):
    """Workers outlive studies, and Python keeps what it has imported."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "robot.py").write_text(
        "import pomdplite as pl\nimport robot_numbers\nclass Robot(pl.Tiger):\n    prize = robot_numbers.PRIZE\n"
        "    def reward(m, x, theta, a): return m.prize\n"
    )
    means = []
    with cluster(workers=1) as (address, _, _):
        for prize in (1.0, 100.0):
            (tmp_path / "robot_numbers.py").write_text(f"PRIZE = {prize}\n")
            robot = pl.Study("robot", problems=["robot.py:Robot"], planners=["qmdp"], episodes=10)
            results = robot.run(tmp_path / f"{prize}.db", dask=address)
            assert facts(results) == facts(robot.run(tmp_path / f"{prize} alone.db", workers=1))
            means.append(results.cells[0].evaluation(0).mean)
    assert means[1] == pytest.approx(100 * means[0])
    sys.modules.pop("robot_numbers")


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("tcp://127.0.0.1:9", "no dask scheduler answers at tcp://127.0.0.1:9"),
        ("nonsense://x", "--dask nonsense://x: give the scheduler's address"),
        ("tcp://127.0.0.1:port", "--dask tcp://127.0.0.1:port: give the scheduler's address"),
    ],
)
def test_an_address_where_no_scheduler_is(tmp_path, address, said, monkeypatch):
    monkeypatch.setattr("pomdplite.experiments.studies.cluster._CONNECT_SECONDS", 1.0)
    with pytest.raises(pl.PomdpLiteError, match=said):
        study(3).run(tmp_path / "s.db", dask=address)
    assert study(3).run(tmp_path / "s.db", workers=1).missing == 0


def test_without_distributed_the_package_to_install_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(pl.UsageError, match=r"pip install 'pomdplite\[cluster\]'"):
        study(3).run(tmp_path / "s.db", dask="tcp://127.0.0.1:9")
