"""Ctrl-C and SIGTERM end the program at any moment: during imports, in compiled code, in worker processes."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pomdplite.cli.main import execute
from pomdplite.compile.interrupts import is_interrupt

IN_COMPILED_CODE = """
    import signal, sys
    from numba import njit
    from pomdplite.compile.interrupts import raise_on

    @njit
    def count(limit):
        i = 0
        while i != limit:
            i = (i + 1) % 1000
        return i

    count(1)
    raise_on(signal.SIGINT, signal.SIGTERM)
    while True:
        try:
            print("ready", flush=True)
            count(-1)
        except KeyboardInterrupt:
            continue  # the signal came before the compiled code was entered
"""

IN_WORKERS = """
    import os, signal, sys
    from numba import njit
    import pomdplite as pl
    from pomdplite.compile.interrupts import raise_on

    @njit
    def count(limit):
        i = 0
        while i != limit:
            i = (i + 1) % 1000
        return i

    class Endless(pl.ModelWorld):
        def step(self, a):
            os.write(1, b"%d\\n" % os.getpid())  # in one piece
            count(-1)

    count(1)
    raise_on(signal.SIGINT, signal.SIGTERM)
    try:
        pl.evaluate("tiger", "qmdp", 4, workers=2, world=Endless)
    except KeyboardInterrupt:
        sys.exit(130)
"""


@contextmanager
def start(script: str) -> Iterator[subprocess.Popen]:
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # the test run itself may ignore it
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.kill()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert not left


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_compiled_code_that_never_returns_is_ended(number):
    with start(IN_COMPILED_CODE) as process:
        while process.stdout.readline() == "ready\n":
            time.sleep(0.2)
            process.send_signal(number)
        err = process.stderr.read()
        assert process.wait(timeout=60) == 130
    assert err.count("\n") == 1 and "compiled code did not return" in err


def test_an_interrupt_between_pythons_instructions_is_an_exception_and_cancels_the_alarm():
    script = """
        import signal, sys
        from pomdplite.compile.interrupts import raise_on
        raise_on(signal.SIGINT)
        try:
            print("ready", flush=True)
            sys.stdin.read()
        except KeyboardInterrupt:
            print("alarm in", signal.alarm(0), "s")
    """
    with start(script) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out = process.stdout.read()
        assert (out, process.stderr.read(), process.wait(60)) == ("alarm in 0 s\n", "", 0)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_in_compiled_code_end_with_their_parent(number):
    with start(IN_WORKERS) as process:
        workers = [int(process.stdout.readline()) for _ in range(2)]
        assert all(map(alive, workers))
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # a terminal sends it to all
        else:
            process.send_signal(number)
        assert process.wait(timeout=60) == (130 if number == signal.SIGINT else -number)
        wait_until_gone(workers)


def test_ctrl_c_during_imports_is_one_line():
    script = """
        import os, signal, sys
        import pomdplite_program

        class Press:
            def find_spec(self, name, path=None, target=None):
                if name == "numba":
                    os.kill(os.getpid(), signal.SIGINT)

        sys.meta_path.insert(0, Press())
        pomdplite_program.main()
    """
    with start(script) as process:
        assert process.communicate(timeout=60) == ("", "pomdplite: interrupted\n")
    assert process.returncode == 130


def test_the_library_leaves_signals_alone_and_the_program_those_that_are_ignored():
    script = """
        import os, signal
        import pomdplite
        from pomdplite.compile.interrupts import raise_on
        print(signal.getsignal(signal.SIGINT) is signal.default_int_handler, signal.getsignal(signal.SIGALRM).name)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise_on(signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        print("still here")
    """
    with start(script) as process:
        assert process.communicate(timeout=60) == ("True SIG_DFL\nstill here\n", "")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemError])
def test_an_interrupted_command_says_so(error, monkeypatch, capsys):
    def interrupted(model):
        raise error from KeyboardInterrupt()

    monkeypatch.setattr(sys.modules["pomdplite.cli.check"], "check_model", interrupted)
    assert execute(["check", "tiger"]) == 130
    assert capsys.readouterr().err == "pomdplite: interrupted\n"


def test_ctrl_c_is_recognised_behind_errors_of_compiled_code_and_other_errors_are_not():
    def raised(*errors):
        found = None
        for error in errors:
            error.__context__ = found
            found = error
        return found

    assert is_interrupt(raised(KeyboardInterrupt()))
    assert is_interrupt(raised(KeyboardInterrupt(), SystemError()))
    assert is_interrupt(raised(KeyboardInterrupt(), SystemError(), SystemError()))
    assert not is_interrupt(raised(SystemError()))
    assert not is_interrupt(raised(ValueError(), SystemError()))
    assert not is_interrupt(raised(KeyboardInterrupt(), ValueError()))
