"""Machine code on disk: folders that cannot be written to, damaged files, a full disk."""

import errno
import logging
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from numba.core.caching import NullCache

import pomdplite as pl
from pomdplite.compile import cache, storage
from pomdplite.compile.jit import kernel


@pytest.fixture
def fresh(tmp_path, monkeypatch, caplog):
    """An empty cache folder, and nothing said yet."""
    monkeypatch.setattr(storage, "_warned", set())
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    caplog.set_level(logging.WARNING, "pomdplite")
    return tmp_path / "cache"


@pytest.fixture
def nowhere(tmp_path, monkeypatch, fresh):
    """No folder can be created: all of them lie below a regular file."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(blocked / "numba"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(blocked / "tmp"))
    monkeypatch.setattr(storage._MachineCode, "_locator_classes", [storage._TemporaryLocator])
    return blocked


def said(caplog) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def doubled():
    """A kernel, as a new process would compile it."""

    @kernel
    def double(v):
        return 2 * v

    return double


def hits(function) -> tuple[int, int]:
    """How many signatures were loaded from disk, and how many compiled."""
    return sum(function.stats.cache_hits.values()), sum(function.stats.cache_misses.values())


def files(folder: Path, kind: str) -> list[Path]:
    return sorted(folder.rglob(f"*{kind}"))


def test_a_kernel_is_loaded_from_disk(fresh, caplog):
    for expected in ((0, 1), (1, 0)):
        function = doubled()
        assert function(21) == 42 and hits(function) == expected
    assert said(caplog) == []


DAMAGE = {
    "truncated": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "overwritten": lambda data: os.urandom(len(data)),
    "one bit": lambda data: data[:-100] + bytes([data[-100] ^ 1]) + data[-99:],
    "another format": lambda data: b"\x80\x04K\x01.",
}


@pytest.mark.parametrize("kind", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_replaced(fresh, caplog, kind, damage):
    doubled()(21)
    (path,) = files(fresh, kind)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    for expected in ((0, 1), (1, 0)):  # compiled again, and then loaded again
        function = doubled()
        assert function(21) == 42 and hits(function) == expected
    folder = path.parent
    expected = [] if damage == "another format" else [f"damaged compiled code in {folder} is replaced"]
    assert said(caplog) == expected


def test_an_index_never_leads_to_the_code_of_another_signature(fresh):
    """Two processes may choose the same number for their files."""
    function = doubled()
    function(21)
    function(2.5)
    first, second = files(fresh, ".nbc")
    second.write_bytes(first.read_bytes())
    function = doubled()
    assert function(2.5) == 5.0 and function(21) == 42 and hits(function) == (1, 1)


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_costs_only_the_cache(fresh, caplog, monkeypatch):
    monkeypatch.setattr(storage._CheckedFiles, "_write", full)
    assert doubled()(21) == 42 and doubled()(2.5) == 5.0
    assert len(said(caplog)) == 1 and said(caplog)[0].endswith("No space left on device")


def test_without_any_folder_kernels_live_in_memory(nowhere, caplog):
    function = doubled()
    assert isinstance(function._cache, NullCache) and function(21) == 42 and doubled()(21) == 42
    assert said(caplog) == ["no folder for compiled code is writable; every process will compile again what it uses"]


def test_a_private_temporary_folder_takes_the_place_of_unwritable_ones(nowhere, caplog, monkeypatch, tmp_path):
    (tmp_path / "free").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "free"))
    for expected in ((0, 1), (1, 0)):
        function = doubled()
        assert function(21) == 42 and hits(function) == expected
    folder = storage.private_folder()
    assert folder.stat().st_mode & 0o777 == 0o700 and cache.cache_folder() == folder
    assert len(said(caplog)) == 2 and all(str(folder) in text for text in said(caplog))


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners of files here")
def test_a_temporary_folder_that_others_can_write_to_is_not_used(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / f"pomdplite-{os.getuid()}").mkdir()
    (tmp_path / f"pomdplite-{os.getuid()}").chmod(0o777)
    assert storage.private_folder() is None


# ------------------------------------------------------------------ models


def coin(prize: float) -> pl.Model:
    class Coin(pl.Model):
        hidden = pl.Hidden(coin=("heads", "tails"))
        actions = ("call",)
        discount = 0.0

        def transition(m, x, theta, a, y):
            pass

        def reward(m, x, theta, a):
            return prize

    return Coin()


def value(model: pl.Model) -> float:
    from pomdplite.compile import codegen

    codegen._loaded.clear()  # as in a new process
    planner = pl.MeanMdp(model)
    planner.reset()
    return float(planner.decide().solution.mean_reward[0])


def test_a_model_without_a_folder_is_compiled_in_memory(nowhere, caplog):
    assert value(coin(4.25)) == 4.25
    folder = nowhere / "numba" / "pomdplite"
    expected = f"the cache folder {folder} is not writable; every process will compile its models again"
    assert said(caplog).count(expected) == 1


@pytest.mark.parametrize("kind", [".py", ".nbc"])
def test_damaged_files_of_a_model_are_replaced(fresh, caplog, kind):
    assert value(coin(4.5)) == 4.5
    for path in files(fresh, kind):
        path.write_bytes(path.read_bytes()[:40])
    assert value(coin(4.5)) == 4.5 and len(said(caplog)) == 1 and "is replaced" in said(caplog)[0]
    written = {path: path.stat().st_mtime_ns for path in files(fresh, ".nbc")}
    assert value(coin(4.5)) == 4.5 and {p: p.stat().st_mtime_ns for p in files(fresh, ".nbc")} == written


def test_a_full_disk_does_not_stop_a_model(fresh, caplog, monkeypatch):
    monkeypatch.setattr("tempfile.mkstemp", full)
    monkeypatch.setattr(storage._CheckedFiles, "_write", full)
    assert value(coin(4.75)) == 4.75
    assert any("No space left on device" in text for text in said(caplog)) and not files(fresh, ".py")


def test_a_disk_that_fills_while_a_module_is_written_leaves_nothing_behind(fresh, caplog, monkeypatch):
    folder = cache.cache_folder()
    monkeypatch.setattr("os.fdopen", full)
    with pytest.raises(OSError, match="No space left"):
        cache.write_once(folder / "model_x.py", "text")
    assert list(folder.iterdir()) == []


def test_commands_work_in_a_container_without_a_home(tmp_path):
    """The package's folder, the home and the temporary folder cannot be written to."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    code = (
        "import sys\n"
        "from numba.core import caching\n"
        "caching.InTreeCacheLocator.ensure_cache_path = lambda self: (_ for _ in ()).throw(OSError('read-only'))\n"
        "sys.argv = ['pomdplite', 'list']\n"
        "from pomdplite.cli.main import main\n"
        "main()\n"
    )
    places = {name: str(blocked / "x") for name in ("HOME", "XDG_CACHE_HOME", "TMPDIR", "NUMBA_CACHE_DIR")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **places}
    )
    assert done.returncode == 0 and "tiger" in done.stdout and "Traceback" not in done.stderr, done.stderr
