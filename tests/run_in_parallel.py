"""Run the fast tests: as many pytest processes as there are cores, each with one file after the other.

Workers of pytest-xdist have threads, and planners fork their workers: that is asking for deadlocks, so a file is the
unit. Those that take longest begin.
"""

import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).parent
LONGEST = (
    "rivals",
    "cli",
    "docs",
    "compile",
    "interpreted",
    "cluster",
    "grasp",
    "studies",
    "tune",
    "sarsop",
    "planners",
    "worlds",
)
NOTHING_TO_RUN = 5  # pytest's exit code of a file whose tests were all left out


def files() -> list[Path]:
    """The test files, the longest first."""

    def key(path: Path) -> tuple[int, str]:
        name = path.stem.removeprefix("test_")
        return (LONGEST.index(name) if name in LONGEST else len(LONGEST), name)

    return sorted(TESTS.glob("test_*.py"), key=key)


def run(path: Path) -> subprocess.CompletedProcess[str]:
    """One file in a process of its own."""
    options = ["-m", "not slow", "-o", f"cache_dir=.pytest_cache/{path.stem}", "--durations=3", *sys.argv[1:]]
    command = [sys.executable, "-m", "pytest", *options, str(path)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def main() -> int:
    started, failed, counts, cores = time.monotonic(), [], Counter[str](), os.cpu_count() or 1
    print(f"{len(files())} test files, {cores} at a time; the longest begin, and compile on a new machine", flush=True)
    with ThreadPoolExecutor(cores) as pool:
        running = {pool.submit(run, path): path for path in files()}
        for done in as_completed(running):
            result = done.result()
            print(f"== {running[done].name}\n{result.stdout}", flush=True)
            last = (result.stdout.strip().splitlines() or [""])[-1]
            for number, what in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", last):
                counts[what] += int(number)
            if result.returncode not in (0, NOTHING_TO_RUN):
                failed.append(running[done].name)
    found = ", ".join(f"{number} {what}" for what, number in counts.items())
    print(f"{len(running)} files, {found}, in {(time.monotonic() - started) / 60:.1f} minutes")
    if failed:
        print(f"not passed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
