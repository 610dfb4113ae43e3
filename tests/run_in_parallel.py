"""Run the fast tests, one pytest process for each core, each with its share of the files.

Workers of pytest-xdist have threads, and planners fork their workers: that is asking for deadlocks, so the share is by
files. Those that take longest are dealt out first.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).parent
LONGEST = ("rivals", "cli", "docs", "grasp", "cluster", "studies", "compiling", "tune", "sarsop", "planners", "worlds")


def shares(count: int) -> list[list[str]]:
    """The test files, dealt out in turns, there and back."""

    def key(path: Path) -> tuple[int, str]:
        name = path.stem.removeprefix("test_")
        return (LONGEST.index(name) if name in LONGEST else len(LONGEST), name)

    files = sorted(TESTS.glob("test_*.py"), key=key)
    dealt: list[list[str]] = [[] for _ in range(count)]
    for i, path in enumerate(files):
        turn, place = divmod(i, count)
        dealt[place if turn % 2 == 0 else count - 1 - place].append(str(path))
    return [share for share in dealt if share]


def main() -> int:
    running = []
    for number, share in enumerate(shares(os.cpu_count() or 1)):
        output = tempfile.TemporaryFile("w+") if number else None  # noqa: SIM115  the first is watched as it runs
        cache = f"cache_dir=.pytest_cache/{number}"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-m",
            "not slow",
            "-o",
            cache,
            "--durations=5",
            *share,
            *sys.argv[1:],
        ]
        running.append((subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT), output))
    for process, output in running:
        process.wait()
        if output is not None:
            output.seek(0)
            print(output.read(), flush=True)
    return max(process.returncode for process, _ in running)


if __name__ == "__main__":
    sys.exit(main())
