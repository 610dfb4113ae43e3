"""Run the fast tests with as many pytest processes as there are cores, several test files in each.

A process takes 2 s to start and more to load kernels, so short files share one. Files, not tests, are dealt out because
planners fork worker processes, and forking from the threads of pytest-xdist's workers can deadlock. The longest files of
the last run start first, so that no core is left alone with one of them at the end. Arguments are passed on to pytest.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
CACHE = TESTS.parent / ".pytest_cache"
DURATIONS = CACHE / "file_durations.json"  # seconds by file name
LONG = 40.0  # seconds: a file that takes longer has a process of its own, and files that share one take no longer
# Files that start threads or a browser, or send signals: not to be mixed with others.
ALONE = ("test_cluster.py", "test_interrupts.py", "test_report_page.py")
# Where there was no run yet. The first files, in this order, compile most kernels into an empty cache; meanwhile others
# run that need next to none. So few kernels are compiled twice at the same time.
KERNELS = ("test_rivals.py", "test_interpreted.py")
FEW_KERNELS = (
    "test_packaging.py", "test_imports.py", "test_house_rules.py", "test_site.py", "test_fuzzed_files.py",
    "test_statistics.py", "test_rng.py", "test_hash_table.py", "test_factored_files.py", "test_spaces.py",
)  # fmt: skip
USUAL = 8.0  # seconds of a file, other than these:
FIRST_RUN = {"test_cluster.py": 50.0, "test_docs.py": 45.0, "test_cli.py": 30.0, "test_compile.py": 30.0}
NO_TESTS_COLLECTED = 5  # pytest's exit code when every test of a file was deselected


class Batch(NamedTuple):
    """Files for one process."""

    files: list[Path]
    seconds: float  # that it is expected to take; LONG if it takes no more files

    @property
    def name(self) -> str:
        return ", ".join(path.name for path in self.files)


class Outcome(NamedTuple):
    """What came of a batch."""

    code: int
    text: str
    seconds: dict[str, float]  # by file name


def last_durations() -> dict[str, float]:
    """Return the seconds each file took in the last run; empty before the first."""
    try:
        return {str(name): float(seconds) for name, seconds in json.loads(DURATIONS.read_text()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def batches(files: list[Path], seconds: dict[str, float]) -> list[Batch]:
    """Deal the files out, in the order in which to start them."""
    if not seconds:
        by_name = {path.name: path for path in files}
        first, second = ([by_name[name] for name in names] for names in (KERNELS, FEW_KERNELS))
        others = batches([path for path in files if path not in (*first, *second)], FIRST_RUN)
        return [Batch(first, LONG), Batch(second, LONG), *others]
    found: list[Batch] = []
    for path in sorted(files, key=lambda path: (-seconds.get(path.name, USUAL), path.name)):
        expected = seconds.get(path.name, USUAL)
        alone = expected >= LONG or path.name in ALONE
        room = [] if alone else [i for i, batch in enumerate(found) if batch.seconds + expected <= LONG]
        if room:
            found[room[0]] = Batch([*found[room[0]].files, path], found[room[0]].seconds + expected)
        else:
            found.append(Batch([path], LONG if alone else expected))
    return found


def run(batch: Batch) -> Outcome:
    """Run a batch in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        report, cache = Path(folder) / "report.xml", CACHE / batch.files[0].stem
        options = ["-m", "not slow", "-o", f"cache_dir={cache}", "--durations=3", f"--junitxml={report}"]
        command = [sys.executable, "-m", "pytest", *options, *sys.argv[1:], *map(str, batch.files)]
        started = time.monotonic()
        # Tests start some two hundred programs. Without bytecode on disk each of them would compile the package's source.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=environment
        )
        took = time.monotonic() - started
        return Outcome(done.returncode, done.stdout, file_seconds(report, batch, took))


def file_seconds(report: Path, batch: Batch, took: float) -> dict[str, float]:
    """Split the seconds of a batch between its files: what their tests took, and equal parts of the rest."""
    tests = dict.fromkeys((path.stem for path in batch.files), 0.0)
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            names = [name for name in case.get("classname", "").split(".") if name in tests]
            for name in names[-1:]:
                tests[name] += float(case.get("time", 0))
    rest = max(0.0, took - sum(tests.values())) / len(tests)
    return {f"{name}.py": round(seconds + rest, 1) for name, seconds in tests.items()}


def main() -> int:
    """Run every test file and print a summary. Return 1 if any failed."""
    started, cores, seconds = time.monotonic(), os.cpu_count() or 1, last_durations()
    files = sorted(TESTS.glob("test_*.py"))
    failed, counts, found = [], Counter[str](), defaultdict(float, seconds)
    dealt = batches(files, seconds)
    print(f"{len(files)} test files, {len(dealt)} processes, {cores} at a time; a first run also compiles", flush=True)
    with ThreadPoolExecutor(cores) as pool:
        running = {pool.submit(run, batch): batch for batch in dealt}
        for future in as_completed(running):
            batch, outcome = running[future], future.result()
            found.update(outcome.seconds)
            print(f"== {batch.name}\n{outcome.text}", flush=True)
            summary = (outcome.text.strip().splitlines() or [""])[-1]
            for number, what in re.findall(r"(\d+) (passed|failed|skipped|errors?)\b", summary):
                counts[what] += int(number)
            if outcome.code not in (0, NO_TESTS_COLLECTED):
                failed.append(batch.name)
    CACHE.mkdir(exist_ok=True)
    DURATIONS.write_text(json.dumps({path.name: found[path.name] for path in files}, indent=1))
    total = ", ".join(f"{number} {what}" for what, number in counts.items())
    print(f"{len(files)} files: {total}, in {(time.monotonic() - started) / 60:.1f} minutes")
    if failed:
        print(f"failed: {'; '.join(sorted(failed))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
