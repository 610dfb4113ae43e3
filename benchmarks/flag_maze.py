"""The maze with flags: how many of them planners take to the goal while they learn how moves slip.

    python benchmarks/flag_maze.py EPISODES [SEED] [FILE]     episodes of 5,000 steps, the same for every planner

Episodes that FILE already holds are not played again.
"""

import csv
import sys
from pathlib import Path

import pomdplite as pl

STEPS = 5000
PRIORS = {"flag-maze": "local", "flag-maze-tied": "tied"}
PLANNERS = ("pomdp-lite", "beb", "variance-bonus", "r-max", "psrl", "mean-mdp")
ROWS = ("problem", "planner", "seed", "episode", "flags", "seconds")


def play(problem: str, name: str, seed: int, episode: int) -> tuple[float, float]:
    """The flags of an episode, and the seconds of CPU time per decision."""
    model = pl.FlagMaze(PRIORS[problem], horizon=STEPS)
    planner, rewards, seconds = pl.make_planner(name, model), [], []
    planner.use_clock("cpu")

    def note(step: pl.Step) -> None:
        rewards.append(step.reward)
        seconds.append(step.decision.seconds)

    pl.run_episode(planner, pl.ModelWorld(model), seed, episode, on_step=note)
    return sum(rewards), sum(seconds) / len(seconds)


def main(count: int, seed: int = 18, file: str = "docs/results/flag-maze.csv") -> None:
    path = Path(file)
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    known = {(row["problem"], row["planner"], int(row["seed"]), int(row["episode"])) for row in rows}
    for episode in range(count):
        for problem in PRIORS:
            for name in PLANNERS:
                if (problem, name, seed, episode) in known:
                    continue
                flags, each = play(problem, name, seed, episode)
                rows.append(dict(zip(ROWS, (problem, name, seed, episode, f"{flags:g}", f"{each:.6f}"), strict=True)))
                with path.open("w", newline="") as text:
                    writer = csv.DictWriter(text, ROWS, lineterminator="\n")
                    writer.writeheader()
                    writer.writerows(rows)
                print(problem, name, episode, f"{flags:g} flags, {1000 * each:.2f} ms per decision", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(int, sys.argv[2:3]), *sys.argv[3:])
