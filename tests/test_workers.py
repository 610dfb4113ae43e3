"""Worker processes that die: one sentence, and what was played stays stored."""

import itertools
import multiprocessing
import os
import random
import signal
import threading
import time

import pytest
from test_studies import bench, wait_for_rows

import pomdplite as pl
from pomdplite.experiments.episodes import parallel

DIED = r"a worker process died \(exit code -9: killed, or out of memory\); try fewer workers\."


def study(episodes: int = 60) -> pl.Study:
    return pl.Study("t", ["tiger"], ["pomdp-lite"], episodes=episodes, sims=300, options={"solver": "uct"}, seed=4)


class Counting(pl.ProgressListener):
    """Which episodes were reported as stored."""

    def __init__(self) -> None:
        self.indices: list[int] = []

    def played(self, cell, episodes):
        self.indices += [e.index for e in episodes]


def kill(process) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.join()


def check_killed(path, listener: Counting) -> None:
    """Everything that was reported is stored, and the study can be finished."""
    left = pl.Results.read(path)
    assert sorted(listener.indices) == [e.index for e in left.cells[0].episodes]
    assert study().run(path, workers=1).missing == 0


@pytest.mark.parametrize("moment", ["before its first batch", "before its next batch", "while it plays"])
def test_a_killed_worker_ends_a_study_in_one_sentence(moment, tmp_path, monkeypatch):
    listener, send = Counting(), parallel._send_batch
    calls = itertools.count()

    def send_batch(pipe, process, waiting, count):
        call = next(calls)
        if (moment, call) in (("before its first batch", 1), ("before its next batch", 5)):
            kill(process)
        sent = send(pipe, process, waiting, count)
        if moment == "while it plays" and call == 4:
            kill(process)
        return sent

    monkeypatch.setattr(parallel, "_send_batch", send_batch)
    with pytest.raises(pl.PomdpLiteError, match=DIED):
        study().run(tmp_path / "s.db", workers=2, listener=listener)
    monkeypatch.undo()
    check_killed(tmp_path / "s.db", listener)


def test_what_other_workers_have_finished_is_kept(tmp_path, monkeypatch):
    received = []

    def receive(pipe, process):
        received.append(pipe)
        if len(received) == 3:
            time.sleep(0.3)  # meanwhile the other one sends its batch
            kill(process)
            raise parallel.WorkerDiedError(process)
        return pipe.recv()

    listener = Counting()
    monkeypatch.setattr(parallel, "_receive", receive)
    with pytest.raises(pl.PomdpLiteError, match=DIED):
        study().run(tmp_path / "s.db", workers=2, listener=listener)
    assert len(listener.indices) > 2
    check_killed(tmp_path / "s.db", listener)


class Unpicklable(Exception):
    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")
        self.lock = threading.Lock()


def test_an_exception_that_cannot_be_sent_is_still_reported():
    from pomdplite.worlds.model import ModelWorld

    class Breaking(ModelWorld):
        def step(self, a):
            raise Unpicklable("this", "that")

    with pytest.raises(pl.PomdpLiteError, match="a worker failed with Unpicklable: this and that"):
        pl.evaluate("tiger", "qmdp", episodes=4, workers=2, world=Breaking)


def test_no_process_can_be_started(monkeypatch):
    def start(self):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(multiprocessing.get_context("fork").Process, "start", start)
    with pytest.raises(pl.PomdpLiteError, match=r"cannot start a worker process \(Resource temporarily unavailable\)"):
        pl.evaluate("tiger", "qmdp", episodes=4, workers=2)
    assert not multiprocessing.active_children()


def test_a_worker_that_is_terminated_at_once_is_silent(monkeypatch, capfd):
    """It may not have set its own signal handlers yet; the parent's would raise KeyboardInterrupt in it."""

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        for _ in range(30):
            pipe, process = parallel._started(pl.Qmdp(pl.make_model("tiger")), 0, "model", 1)
            process.terminate()
            process.join()
            pipe.close()
            assert process.exitcode == -signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, before)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_150_workers_killed_at_any_moment(tmp_path):
    moments = random.Random(1)
    sentences = 0
    for number in range(150):
        listener, path = Counting(), tmp_path / f"{number}.db"
        over = threading.Event()

        after = moments.uniform(0.0, 0.1)

        def strike(after=after, over=over):
            while not multiprocessing.active_children() and not over.is_set():
                time.sleep(0.0002)
            time.sleep(after)
            for child in multiprocessing.active_children()[:1]:
                os.kill(child.pid, signal.SIGKILL)

        thread = threading.Thread(target=strike)
        thread.start()
        try:
            study(400).run(path, workers=2, listener=listener)
        except pl.PomdpLiteError as error:
            assert str(error).count("\n") == 0 and "a worker process died (exit code -9" in str(error)
            sentences += 1
        finally:
            over.set()
            thread.join()
        assert sorted(listener.indices) == [e.index for e in pl.Results.read(path).cells[0].episodes]
    print(f"150 kills, {sentences} studies ended by them")
    assert sentences == 150


@pytest.mark.slow
def test_the_command_line_reports_a_killed_worker_in_one_line(tmp_path):
    toml, file = tmp_path / "s.toml", tmp_path / "s.db"
    toml.write_text(study(4000).toml())
    process = bench(toml, "--out", file, "--workers", 2)
    stored = wait_for_rows(file, 30, process)
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(children) as listed:
        os.kill(int(listed.read().split()[0]), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and "Traceback" not in err
    assert err.strip().splitlines()[-1].startswith("pomdplite: a worker process died (exit code -9")
    assert sum(len(r.episodes) for r in pl.Results.read(file).cells) >= stored
