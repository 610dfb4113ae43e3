"""How much of a person's effort assistants save, in the kitchens and for the doorman (docs/assistants.md).

    python benchmarks/assistants.py take STUDY [FILE]                    from the study applications, played by bench
    python benchmarks/assistants.py alone [EPISODES] [SEED] [FILE]       play the same episodes without an assistant
    python benchmarks/assistants.py report [FILE]                        the table of what FILE holds
    python benchmarks/assistants.py bounds [PROBLEM ...]                 bounds on the least effort possible
    python benchmarks/assistants.py picture [PROBLEM] [EPISODE] [FILE]   moments of an episode

Episode i of a seed has the same goal and the same random numbers with every planner. The share saved is 1 − (actions of
the person with the assistant) / (without one), over all episodes.
"""

import csv
import math
import sys
from pathlib import Path

import numpy as np

import pomdplite as pl

SOLVE = 30.0  # seconds of CPU time that bounds are computed for
FILE = "docs/results/assistants.csv"
PROBLEMS = ("doorman", "kitchen", "kitchen-10", "kitchen-50")
ALONE = "no assistant"
ROWS = ("problem", "planner", "seed", "episode", "goal", "steps", "complete", "seconds", "parameters")
MOMENTS = 6  # of an episode in a picture


def without_assistant(problem):
    """A planner for the same problem with an assistant that can only wait."""
    model = pl.make_model(problem)
    options = {"rationality": model.rationality, "assistant": False}
    kitchen = problem.startswith("kitchen")
    return pl.Qmdp(
        pl.Kitchen(model.recipes, (model.columns, model.rows), **options) if kitchen else pl.Doorman(**options)
    )


def stored(file):
    """The rows of a file."""
    if not Path(file).exists():
        return []
    with Path(file).open() as text:
        return list(csv.DictReader(text))


def store(file, rows):
    with Path(file).open("w", newline="") as text:
        writer = csv.DictWriter(text, ROWS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def alone(count=200, seed=16, file=FILE):
    """Play without an assistant."""
    rows = [row for row in stored(file) if row["planner"] != ALONE]
    for problem in PROBLEMS:
        planner = without_assistant(problem)
        world = pl.ModelWorld(planner.model)
        for episode in range(int(count)):
            played = pl.run_episode(planner, world, int(seed), episode)
            goal = planner.model.hidden.describe(world.theta).partition("=")[2]
            rows.append(dict(zip(ROWS, (problem, ALONE, seed, episode, goal, played.steps, played.success,
                                        f"{played.seconds:.4f}", ""), strict=True)))  # fmt: skip
    store(file, rows)


def take(study, file=FILE):
    """Take over what a study's file holds, in place of what FILE has of the same planners on the same problems."""
    results = pl.Results.read(study)
    played = [result for result in results.cells if result.cell.problem in PROBLEMS and result.episodes]
    replaced = {(result.cell.problem, result.cell.planner) for result in played}
    rows = [row for row in stored(file) if (row["problem"], row["planner"]) not in replaced]
    goals = {(row["problem"], row["seed"], row["episode"]): row["goal"] for row in rows if row["planner"] == ALONE}
    for result in played:
        cell, seed = result.cell, results.seed
        used = " ".join(f"{name}={value}" for name, value in (cell.parameters | result.chosen).items())
        for e in result.episodes:
            goal = goals[cell.problem, str(seed), str(e.index)]
            values = cell.problem, cell.planner, seed, e.index, goal, e.steps, e.success, f"{e.seconds:.4f}", used
            rows.append(dict(zip(ROWS, values, strict=True)))
    store(file, rows)
    report(file)


def saved(own, alone):
    """The share of the effort saved, 1 − Σ own / Σ alone, and its standard error by the delta method."""
    ratio = own.sum() / alone.sum()
    return 1 - ratio, (own - ratio * alone).std(ddof=1) / (alone.mean() * math.sqrt(len(own)))


def report(file=FILE):
    """Actions of the person, the share saved, and the difference in actions to POMDP-lite on the same episodes."""
    steps, seconds = {}, {}
    for row in stored(file):
        key = row["problem"], row["planner"]
        steps.setdefault(key, {})[row["seed"], int(row["episode"])] = int(row["steps"])
        seconds[key] = seconds.get(key, 0.0) + float(row["seconds"])
    print(f"{'':32}{'episodes':>9}{'actions':>16}{'saved':>17}{'to pomdp-lite':>17}{'ms a step':>11}")
    for (problem, name), own in steps.items():
        both = [np.array([other[e] for e in own if e in other], float) if other else None
                for other in (steps.get((problem, ALONE)), steps.get((problem, "pomdp-lite")))]  # fmt: skip
        played = np.array(list(own.values()), float)
        error = played.std(ddof=1) / math.sqrt(len(played))
        text = f"{problem:14}{name:18}{len(own):9}{played.mean():9.2f} ± {error:4.2f}"
        if both[0] is not None and len(both[0]) == len(own):
            share, share_error = saved(played, both[0])
            text += f"{100 * share:9.1f} ± {100 * share_error:3.1f} %"
        if both[1] is not None and len(both[1]) == len(own):
            more = played - both[1]
            text += f"{more.mean():+10.2f} ± {more.std(ddof=1) / math.sqrt(len(more)):4.2f}"
        print(f"{text}{1e3 * seconds[problem, name] / played.sum():11.2f}")


def bounds(*problems):
    """The expected number of actions without an assistant, with one that knows the goal, and bounds on the optimum."""
    for problem in problems or PROBLEMS:
        model = pl.make_model(problem)
        planner = pl.Qmdp(model)
        planner.reset()
        known = -planner.decide().bounds[1]
        print(f"{problem}: alone {model.alone.mean():.3f}, with the goal known {known:.3f}", flush=True)
        for name in ("sarsop", "bayes-optimal"):
            try:
                planner = pl.make_planner(name, model, solve_time=SOLVE)
                planner.use_clock("cpu")
                planner.reset()
                low, high = planner.decide().bounds
                print(f"    {name}: from {-high:.3f} to {-low:.3f}", flush=True)
            except (pl.TooLargeError, pl.NotConvergingError, pl.UnsuitableError) as why:
                print(f"    {name}: {why}", flush=True)


def picture(problem="kitchen", episode=0, file=None):
    """Moments of an episode of POMDP-lite, evenly spread."""
    from pomdplite.views.mpl import new_figure

    planner, steps = pl.PomdpLite(pl.make_model(problem)), []
    pl.run_episode(planner, pl.ModelWorld(planner.model), 16, int(episode), on_step=steps.append)
    figure = new_figure(10, 7.5)
    chosen = np.linspace(0, len(steps) - 1, MOMENTS).round().astype(int)
    for axes, i in zip(figure.subplots(2, MOMENTS // 2).flat, chosen, strict=True):
        planner.model.paint(axes, steps[i].x, steps[i].marginals)
        axes.text(0.02, 1.06, f"{i + 1}. {steps[i].decision.name}", transform=axes.transAxes, weight="bold")
    figure.savefig(file or f"docs/pictures/{problem}.png", dpi=110)


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["report"]
    {"take": take, "alone": alone, "report": report, "bounds": bounds, "picture": picture}[what](*more)
