"""Light-Dark with real readings: an episode of POMDP-lite as a picture.

python benchmarks/light_dark.py EPISODE [SEED] [FILE]     the belief before every step, as a curve
"""

import sys

import numpy as np

import pomdplite as pl
from pomdplite.views.mpl import new_figure

SECONDS = 0.1
GOAL, LIGHT, WALL = 0, 10, 60
HIGHEST = 0.95  # of a curve, in steps
BLUE, GREEN, GOLD, DARK = "#1f5fbf", "#2c8a3c", "#b8860b", "#454b57"


def picture(episode, seed=15, file="docs/pictures/light-dark.png"):
    """Play an episode, and draw the belief before every step over the true position."""
    model = pl.make_model("light-dark")
    planner = pl.PomdpLite(model, time=SECONDS)
    planner.use_clock("cpu")
    world, steps, later = pl.ModelWorld(model), [], []

    def note(step):
        steps.append(step)
        later.append(int(world.theta.position))  # after the step

    played = pl.run_episode(planner, world, seed, episode, on_step=note)
    positions = np.arange(-WALL, WALL + 1)
    figure = new_figure(7.5, 1.2 + 0.42 * len(steps))
    axes = figure.subplots()
    for t, step in enumerate(steps):
        p = step.marginals[0]
        height = HIGHEST * np.sqrt(p / p.max())  # the root shows small probabilities, too
        axes.fill_between(positions, t, t - height, color=BLUE, alpha=0.75, lw=0, zorder=t + 2)
        axes.plot(positions, t - height, color="white", lw=0.8, zorder=t + 2)
        axes.text(WALL + 2, t, step.decision.name, va="center", fontsize=8, color=DARK)
    path = [later[0] - model.moves[steps[0].decision.action], *later[:-1]]  # no wall is near the start
    axes.plot(path, range(len(path)), "o", color="black", ms=4, zorder=len(steps) + 3, label="true position")
    axes.axvline(GOAL, color=GREEN, ls="--", lw=1, label="goal")
    axes.axvline(LIGHT, color=GOLD, ls="--", lw=1, label="light")
    axes.set(xlim=(-WALL, WALL), ylim=(len(steps) - 0.4, -1.2), xlabel="position", ylabel="step")
    axes.legend(loc="lower left", frameon=False, fontsize=8)
    figure.savefig(file, dpi=110)
    print(f"{file}: return {played.discounted:.2f}")


if __name__ == "__main__":
    picture(int(sys.argv[1]), *(int(n) for n in sys.argv[2:3]), *sys.argv[3:4])
