"""Tables of docs/gallery.md: what planners earn on each problem, from the files in docs/results.

    python benchmarks/gallery_numbers.py

It rewrites what stands between `<!-- numbers: NAME -->` and `<!-- end -->`; a test compares the page with the files.
"""

import csv
import json
import math
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean, stdev

DOCS = Path(__file__).parents[1] / "docs"
LABELS = {
    "pomdp-lite": "POMDP-lite", "pomdp-lite-plus": "POMDP-lite plus", "bayes-optimal": "Bayes-optimal",
    "sarsop": "SARSOP", "despot": "DESPOT", "pomcp": "POMCP", "pomcp-exact": "POMCP, exact belief",
    "pomcpow": "POMCPOW", "pft-dpw": "PFT-DPW", "qmdp": "QMDP", "most-likely": "most likely θ", "mean-mdp": "Mean MDP",
    "beb": "BEB", "variance-bonus": "variance bonus", "r-max": "R-max", "psrl": "PSRL",
    "told": "POMDP-lite, told θ", "nominal": "POMDP-lite, assuming masses of 1", "no assistant": "no assistant",
}  # fmt: skip
OURS, DIFFERENCE = "pomdp-lite", "less POMDP-lite's, on the same episodes"
Cells = dict[str, dict[str, str]]  # by label of a row and heading of a column


def rows(file: str) -> list[dict[str, str]]:
    with open(DOCS / "results" / file, newline="") as lines:
        return list(csv.DictReader(lines))


def entry(mean: float, stderr: float, count: int) -> str:
    return f"{mean:.2f} ± {stderr:.2f} ({count})".replace("-", "−")


def label(planner: str) -> str:
    return LABELS.get(planner, planner)


def study(file: str, problems: dict[str, str]) -> str:
    """The table of problems that a study played, with their headings."""
    cells: Cells = defaultdict(dict)
    times = set()
    for row in rows(file):
        if row["problem"] in problems:
            given = json.loads(row["parameters"])
            played = int(row["episodes"]) > 0
            if played and float(row["simulations_per_step"]) > 0 and "time" in given:
                times.add(given["time"])  # others do not use it up
            shown = entry(float(row["mean"]), float(row["stderr"]), int(row["episodes"])) if played else "–"
            cells[label(row["planner"]) + setting(row, given)][problems[row["problem"]]] = shown
    budget = "".join(f"; {time:g} s per step" for time in times)
    return table(f"return{budget}", list(problems.values()), cells)


def setting(row: dict[str, str], given: dict[str, float]) -> str:
    """What a planner was given besides seconds per step."""
    if "sims" in given and float(row["simulations_per_step"]) > 0:
        return f", {given['sims']:,} {'trials' if row['planner'] == 'despot' else 'simulations'} per step"
    solved = given.get("solve_time", given.get("seconds"))
    return f", solved for {solved:g} s" if solved else ""


def episodes(file: str, problem: str, column: str, heading: str, time: str | None = None) -> str:
    """The table of a file with one row per episode: means of a column, and differences on the same episodes."""
    found: dict[str, dict[tuple[str, str], float]] = defaultdict(dict)
    for row in rows(file):
        if row.get("problem", problem) == problem and time in (None, row.get("time")):
            found[row["planner"]][row["seed"], row["episode"]] = float(row[column])
    cells: Cells = defaultdict(dict)
    for planner, numbers in found.items():
        cells[label(planner)][heading] = mean_entry(list(numbers.values()))
        if planner != OURS:
            both = numbers.keys() & found[OURS].keys()
            cells[label(planner)][DIFFERENCE] = mean_entry([numbers[i] - found[OURS][i] for i in sorted(both)])
    return table("", [heading, DIFFERENCE], cells)


def mean_entry(numbers: list[float]) -> str:
    return entry(fmean(numbers), stdev(numbers) / math.sqrt(len(numbers)), len(numbers))


def table(corner: str, headings: list[str], cells: Cells) -> str:
    order = list(LABELS.values())
    known = sorted(
        cells, key=lambda name: max((i for i, begin in enumerate(order) if name.startswith(begin)), default=99)
    )
    lines = [f"| {corner} | {' | '.join(headings)} |", "|---" * (len(headings) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(cells[name].get(heading, '') for heading in headings)} |" for name in known]
    return "\n".join(lines)


TABLES = {
    "tiger": lambda: study("gallery.csv", {"tiger": "`tiger`"}),
    "maze": lambda: study("gallery.csv", {"maze": "`maze`"}),
    "rocksample": lambda: study(
        "table1-short.csv", {f"rocksample-{n}": f"`{n}`" for n in ("7-8", "11-11", "15-15", "20-20")}
    ),
    "battleship": lambda: study("table1-short.csv", {f"battleship-{n}": f"`{n}`" for n in ("10-5", "15-7")}),
    "light-dark": lambda: study("gallery.csv", {name: f"`{name}`" for name in ("light-dark", "light-dark-bins")}),
    "pendulum": lambda: episodes("pendulum.csv", "pendulum", "return", "return"),
    "acrobot": lambda: episodes("acrobot.csv", "acrobot", "steps", "steps to swing up", time="0.02"),
    "grasp": lambda: study("table2.csv", {"grasp": "in the model", "grasp in jaco": "on the Jaco"}),
    "intersection": lambda: episodes("intersection.csv", "intersection", "time", "seconds to pass"),
    "kitchen": lambda: episodes("assistants.csv", "kitchen", "steps", "actions of the cook"),
    "doorman": lambda: episodes("assistants.csv", "doorman", "steps", "actions of the person"),
    "table-carrying": lambda: study("applications.csv", {"table-carrying": "`table-carrying`"}),
    "gouldian-finch": lambda: study("applications.csv", {"gouldian-finch": "`gouldian-finch`"}),
    "chain": lambda: study(
        "unknown-mdp.csv", {f"chain{prior}": f"`chain{prior}`" for prior in ("", "-semi-tied", "-tied")}
    ),
    "flag-maze": lambda: "\n\n".join(
        episodes("flag-maze.csv", name, "flags", f"flags in 5,000 steps of `{name}`")
        for name in ("flag-maze", "flag-maze-tied")
    ),
    "frozen-lake": lambda: study("unknown-mdp.csv", {"frozen-lake": "`frozen-lake`"}),
    "taxi": lambda: study("unknown-mdp.csv", {"taxi": "`taxi`"}),
}


def filled(page: str) -> str:
    """Return the page with its tables made anew."""
    return re.sub(
        r"(<!-- numbers: ([\w-]+) -->\n).*?(<!-- end -->)",
        lambda match: f"{match[1]}\n{TABLES[match[2]]()}\n\n{match[3]}",
        page,
        flags=re.DOTALL,
    )


if __name__ == "__main__":
    gallery = DOCS / "gallery.md"
    gallery.write_text(filled(gallery.read_text()))
