"""Run the fast tests with as many pytest processes as there are cores, one test file per process.

The unit is a file because planners fork worker processes, and forking from the threads of pytest-xdist's workers can
deadlock. The longest files of the last run start first, so that no core is left alone with one of them at the end.
Arguments are passed on to pytest.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

TESTS = Path(__file__).parent
CACHE = TESTS.parent / ".pytest_cache"
DURATIONS = CACHE / "file_durations.json"  # seconds by file name
# Where there was no run yet: files to start first. Names that do not exist are ignored. The first compiles every kernel
# into an empty cache; the next two have minutes of work that does not need that cache, so few kernels are compiled twice.
SLOW = (
    "test_rivals.py",
    "test_compile.py",
    "test_interpreted.py",
    "test_cli.py",
    "test_docs.py",
    "test_cluster.py",
    "test_grasp.py",
)
NO_TESTS_COLLECTED = 5  # pytest's exit code when every test of a file was deselected


def last_durations() -> dict[str, float]:
    """Return the seconds each file took in the last run; empty before the first."""
    try:
        return {str(name): float(seconds) for name, seconds in json.loads(DURATIONS.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def ordered(files: list[Path], seconds: dict[str, float]) -> list[Path]:
    """Sort by descending duration. Files without one come first: those listed as slow, then the others by size."""

    def key(path: Path) -> tuple[float, int, int]:
        rank = SLOW.index(path.name) if path.name in SLOW else len(SLOW)
        return -seconds.get(path.name, float("inf")), rank, -path.stat().st_size

    return sorted(files, key=key)


def run(path: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run one file in its own process. Return the result and the seconds it took."""
    options = ["-m", "not slow", "-o", f"cache_dir={CACHE / path.stem}", "--durations=3", *sys.argv[1:]]
    command = [sys.executable, "-m", "pytest", *options, str(path)]
    started = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done, time.monotonic() - started


def main() -> int:
    """Run every test file and print a summary. Return 1 if any failed."""
    started, cores, seconds = time.monotonic(), os.cpu_count() or 1, last_durations()
    files = ordered(list(TESTS.glob("test_*.py")), seconds)
    failed, counts = [], Counter[str]()
    print(f"{len(files)} test files on {cores} cores; the first run on a machine also compiles", flush=True)
    with ThreadPoolExecutor(cores) as pool:
        running = {pool.submit(run, path): path for path in files}
        for future in as_completed(running):
            path, (done, took) = running[future], future.result()
            seconds[path.name] = round(took, 1)
            print(f"== {path.name}\n{done.stdout}", flush=True)
            summary = (done.stdout.strip().splitlines() or [""])[-1]
            for number, what in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", summary):
                counts[what] += int(number)
            if done.returncode not in (0, NO_TESTS_COLLECTED):
                failed.append(path.name)
    CACHE.mkdir(exist_ok=True)
    DURATIONS.write_text(json.dumps({path.name: seconds[path.name] for path in files}, indent=1))
    found = ", ".join(f"{number} {what}" for what, number in counts.items())
    print(f"{len(files)} files: {found}, in {(time.monotonic() - started) / 60:.1f} minutes")
    if failed:
        print(f"failed: {', '.join(sorted(failed))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
