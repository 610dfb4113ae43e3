"""The program `pomdplite`: importing the library takes a second, and Ctrl-C is understood from the first moment on.

This module is not part of the package, because importing a module of a package imports the package first.
"""

import os
import signal
from typing import Any


def main() -> None:
    """Import the command line and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
    from pomdplite.cli.main import main as run

    run()


def _leave(*_: Any) -> None:
    """End at once: an exception in the middle of imports could surface as anything."""
    os.write(2, b"pomdplite: interrupted\n")
    os._exit(128 + signal.SIGINT)


if __name__ == "__main__":
    main()
