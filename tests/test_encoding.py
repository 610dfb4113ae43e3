"""Whatever the encoding of the terminal or pipe, every command prints all of its output."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import pomdplite as pl
from pomdplite.cli import console
from pomdplite.cli.encoding import use_fallbacks
from pomdplite.cli.main import execute


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    """A finished study whose title and notes are far from ASCII."""
    file = tmp_path_factory.mktemp("study") / "σ.db"
    pl.Study("Größe × β → 結果 🙂", ["tiger"], ["qmdp", "mean-mdp"], episodes=3, notes=["≥ ½ …"]).run(file, workers=1)
    return file


COMMANDS = (
    ("list",), ("show", "tiger"), ("show", "rocksample-4-4"), 
    ("run", "tiger", "-n", "3"), ("run", "tiger", "-n", "3", "--json"), ("run", "ti≥ger"),
    ("compare", "tiger", "--planners", "qmdp,mean-mdp", "-n", "3"), ("watch", "tiger", "-p", "qmdp"),
    ("report", "STUDY"), ("report", "STUDY", "--csv"), ("report", "STUDY", "--latex"),
    ("report", "STUDY", "--markdown"), ("report", "STUDY", "--html", "PAGE"), ("report", "nowhere\udce9.db"), ("--help",),
)  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: " ".join(c).encode("ascii", "replace").decode())
def test_a_command_prints_in_any_encoding(command, encoding, study, tmp_path, monkeypatch):
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2)]
    monkeypatch.setattr(sys, "stdout", streams[0])
    monkeypatch.setattr(sys, "stderr", streams[1])
    monkeypatch.setattr(console.out, "_file", None)
    use_fallbacks()
    arguments = [{"STUDY": str(study), "PAGE": str(tmp_path / "ü.html")}.get(word, word) for word in command]
    expected = 2 if command[1:] in (("ti≥ger",), ("nowhere\udce9.db",)) else 0
    assert execute(arguments) == expected
    for stream in streams:
        stream.flush()
    out, err = (stream.buffer.getvalue().decode(encoding) for stream in streams)
    assert err if expected else out or err
    if command == ("report", "STUDY") and encoding == "ascii":
        assert "Grosse x beta -> ?? ?" in out and "+/-" in out and ">= 1/2 ..." in out


def test_the_c_locale_without_utf_8_mode_prints_a_run():
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    environment.pop("PYTHONIOENCODING", None)
    done = subprocess.run(
        [sys.executable, "-m", "pomdplite.cli", "run", "tiger", "-n", "3"], capture_output=True, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()
    assert b"95% interval" in done.stdout and done.stdout.isascii()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line():
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "pomdplite.cli", "--version"], stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert done.stderr.decode() == "pomdplite: cannot write the output: No space left on device\n"


def test_a_reader_that_has_gone_ends_the_program_silently():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as pipe:
        done = subprocess.run([sys.executable, "-m", "pomdplite.cli", "--version"], stdout=pipe, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (141, b"")
