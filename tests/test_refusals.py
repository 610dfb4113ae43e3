"""What cannot be right is refused at once, in one sentence."""

import subprocess
import sys

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.cli.main import execute
from pomdplite.model.compiled import CompiledModel
from pomdplite.rng import stream


@pytest.mark.parametrize("seed", [np.int64(7), np.uint64(7), np.int8(7)])
def test_numpys_integers_are_seeds(seed):
    assert stream(seed, 1) == stream(7, 1)
    mine, theirs = (pl.evaluate("tiger", "pomcp", 3, s, sims=5) for s in (7, seed))
    assert [e.discounted for e in mine.episodes] == [e.discounted for e in theirs.episodes]
    assert isinstance(theirs.seed, int)


@pytest.mark.parametrize("seed", [1.0, "1", None, np.float64(2), [1]])
def test_other_seeds_are_refused(seed, tmp_path):
    model = pl.Tiger()
    for take in (
        lambda: pl.evaluate(model, "qmdp", 2, seed),
        lambda: pl.Qmdp(model).reset(seed),
        lambda: pl.PomdpLite(model).reset(seed),
        lambda: pl.ModelWorld(model).reset(seed),
        lambda: pl.tune("tiger", params={"beta": (1, 2)}, out=tmp_path / "t.db", seed=seed),
        lambda: pl.Study(problems=["tiger"], planners=["qmdp"], seed=seed),
    ):
        with pytest.raises(pl.UsageError, match=r"seed must be an? (64-bit )?integer, not"):
            take()


def test_a_seed_on_the_command_line_is_an_integer(capsys):
    for command in (["run", "tiger"], ["watch", "tiger"], ["compare", "tiger", "--planners", "qmdp"]):
        assert execute([*command, "--seed", "1.5"]) == 2
        assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, 10**400])
def test_hidden_values_beyond_64_bits_are_refused(value):
    with pytest.raises(pl.ModelError, match="component 'mass': numbers must fit into 64 bits"):
        pl.Hidden(mass=(1, value))
    assert pl.Hidden(mass=(-(2**63), 2**63 - 1)).size == 2


@pytest.mark.parametrize("address", ["foo", "tcp://foo", "tcp://foo:x", "foo:0", "foo:99999999999", ""])
def test_a_malformed_address_of_a_scheduler_is_refused_before_connecting(address, tmp_path):
    pytest.importorskip("distributed")
    study = pl.Study(problems=["tiger"], planners=["qmdp"], episodes=2)
    with pytest.raises(pl.UsageError, match="give the scheduler's address"):
        study.run(tmp_path / "s.db", dask=address)


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_one_line(tmp_path):
    pytest.importorskip("distributed")
    arguments = ("bench", "table1", "--out", str(tmp_path / "s.db"), "--dask", "tcp://127.0.0.1:9")
    done = subprocess.run([sys.executable, "-m", "pomdplite.cli", *arguments], capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no dask scheduler answers" in done.stderr.splitlines()[-1]


def test_too_many_hidden_values_are_reported_before_anything_is_compiled(monkeypatch):
    class Many(pl.Tiger):
        hidden = pl.Hidden(tiger=tuple(range(70_000)))

    def compiled(self):
        pytest.fail("the model was compiled")

    monkeypatch.setattr(CompiledModel, "functions", property(compiled))
    report = pl.check_model(Many())
    assert not report.ok and "70,000 joint values, more than the limit of 65,536" in str(report)
