"""Ctrl-C while compiled code runs.

Python looks for signals only between its own instructions, so a compiled function that never returns cannot be
interrupted. `raise_on` puts a handler in machine code in front of Python's. It passes the signal on to Python and
sets an alarm: if the compiled function returns in time, Python raises KeyboardInterrupt as ever and cancels the alarm;
if not, the alarm ends the process.

Handlers belong to the whole process. This one is for programs, such as the command line: a library does not change how
its user's program reacts to signals.
"""

import ctypes
import signal
import sys
from typing import Any, NoReturn

import llvmlite.binding as llvm

_GRACE_SECONDS = 3  # in which compiled code may return to Python
_EXIT_CODE = 128 + signal.SIGINT  # as shells report it
_MESSAGE = (
    b"pomdplite: interrupted; compiled code did not return, so the program was ended. What its files hold is kept.\n"
)
_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux's prctl

# Written as LLVM's assembly rather than as a Numba function, which would take half a second of every start to load.
# Both handlers call only what POSIX and Python allow in a signal handler. A second Ctrl-C does not prolong the alarm.
_HANDLERS = f"""
declare i32 @PyErr_SetInterruptEx(i32)
declare i32 @alarm(i32)
declare i64 @write(i32, i64, i64)
declare void @_exit(i32)

define void @pass_on(i32 %signal) {{
    %known = call i32 @PyErr_SetInterruptEx(i32 %signal)
    %left = call i32 @alarm(i32 {_GRACE_SECONDS})
    %first = icmp eq i32 %left, 0
    %seconds = select i1 %first, i32 {_GRACE_SECONDS}, i32 %left
    %before = call i32 @alarm(i32 %seconds)
    ret void
}}

define void @leave(i32 %signal) {{
    %written = call i64 @write(i32 2, i64 {{address}}, i64 {len(_MESSAGE)})
    call void @_exit(i32 {_EXIT_CODE})
    ret void
}}
"""

_message = ctypes.create_string_buffer(_MESSAGE)  # the handlers read it
_engines: list[Any] = []  # their machine code stays in memory for as long as the process lives


def raise_on(*signals: signal.Signals) -> None:
    """Let these signals raise KeyboardInterrupt, and end the process if compiled code does not return within seconds.

    A signal that this process was started to ignore, as `nohup` does, stays ignored. Without POSIX signals, compiled
    code cannot be interrupted.
    """
    chosen = [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]
    for number in chosen:
        signal.signal(number, _interrupt)
    if sys.platform in ("linux", "darwin"):
        pass_on, leave = _handlers()
        c_library = ctypes.CDLL(None)
        c_library.signal.argtypes, c_library.signal.restype = (ctypes.c_int, ctypes.c_size_t), ctypes.c_size_t
        c_library.signal(signal.SIGALRM, leave)
        for number in chosen:
            c_library.signal(number, pass_on)
            signal.siginterrupt(number, True)  # like Python's own handler: blocking calls return, so that it can run


def is_interrupt(error: BaseException | None) -> bool:
    """Whether an exception comes from Ctrl-C, which inside compiled code surfaces as one SystemError or several."""
    while isinstance(error, SystemError):
        error = error.__cause__ or error.__context__
    return isinstance(error, KeyboardInterrupt)


def end_with_parent() -> None:
    """End this process when its parent dies, even inside compiled code (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


def _interrupt(*_: Any) -> NoReturn:
    """Python's part: compiled code has returned."""
    if hasattr(signal, "alarm"):
        signal.alarm(0)
    raise KeyboardInterrupt


def _handlers() -> tuple[int, int]:
    """The addresses of the two handlers."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly(_HANDLERS.replace("{address}", str(ctypes.addressof(_message))))
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    _engines.append(engine)
    return engine.get_function_address("pass_on"), engine.get_function_address("leave")
