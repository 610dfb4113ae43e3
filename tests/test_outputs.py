"""No command overwrites a file that is not of the kind it writes."""

import shutil
from pathlib import Path

import pytest

import pomdplite as pl
from pomdplite.cli.main import execute
from pomdplite.cli.outputs import PAGE, PICTURE, POLICY, VIDEO, check_output

TUNE = ("tune", "tiger", "--param", "beta=1:2", "--trials", "1", "-n", "2")


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    file = tmp_path_factory.mktemp("study") / "study.db"
    pl.Study("small", ["tiger"], ["qmdp"], episodes=2).run(file, workers=1)
    return file


@pytest.mark.parametrize("name", ["study.db", "notes.txt"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("solve", "tiger", "--policy", "FILE"), ("report", "STUDY", "--html", "FILE"), (*TUNE, "--plot", "FILE"),
        (*TUNE, "--out", "FILE"), ("bench", "table1", "--out", "FILE"), ("watch", "tiger", "--video", "FILE.gif"),
        ("watch", "tiger", "--video", "FILE.mp4"), ("watch", "tiger", "--pictures", "FILE"), ("watch", "tiger", "--html", "FILE"), (*TUNE, "--plot", "FILE.png"),
    ],
)  # fmt: skip
def test_a_file_of_another_kind_is_not_overwritten(arguments, name, study, tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    target = Path(next(word for word in arguments if word.startswith("FILE")).replace("FILE", name))
    if name == "study.db":
        shutil.copy(study, target)
    else:
        target.write_text("my notes\n")
    before = target.read_bytes()
    given = [word.replace("FILE", name).replace("STUDY", str(study)) for word in arguments]
    assert execute(given) in (1, 2)
    assert str(target) in capsys.readouterr().err
    assert target.read_bytes() == before


def test_a_picture_of_a_step_that_is_no_picture_is_not_overwritten(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "step-001.png").write_text("my notes\n")
    assert execute(["watch", "tiger", "-p", "qmdp", "--pictures", str(tmp_path)]) == 2
    assert (tmp_path / "step-001.png").read_text() == "my notes\n" and "step-001.png" in capsys.readouterr().err


def test_a_file_of_the_same_kind_may_be_overwritten(study, tmp_path):
    planner = pl.Sarsop(pl.Tiger(), solve_trials=5)
    planner.save(tmp_path / "old.npz")
    assert execute(["report", str(study), "--html", str(tmp_path / "old.html")]) == 0
    (tmp_path / "old.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    (tmp_path / "old.gif").write_bytes(b"GIF89a")
    (tmp_path / "old.mp4").write_bytes(b"\0\0\0\x20ftypisom")
    (tmp_path / "empty.npz").touch()
    for name, kind in (
        ("old.npz", POLICY), ("old.html", PAGE), ("old.png", PICTURE), ("old.gif", VIDEO), ("old.mp4", VIDEO),
        ("empty.npz", POLICY), ("new.npz", POLICY),
    ):  # fmt: skip
        check_output(tmp_path / name, kind)
    for name, kind in (("old.npz", PAGE), ("old.html", POLICY), ("old.png", VIDEO), ("old.mp4", PICTURE)):
        with pytest.raises(pl.UsageError, match="not overwritten"):
            check_output(tmp_path / name, kind)
