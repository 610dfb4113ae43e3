"""The pendulum of unknown mass: POMDP-lite beside planners that know the mass, assume a nominal one, or never explore.

    python benchmarks/pendulum.py episodes EPISODES [SEED] [FILE] [PLANNERS]   of 200 steps, the same for every planner
    python benchmarks/pendulum.py calibration EPISODES [SEED]                  how often the 95 % interval holds it
    python benchmarks/pendulum.py picture EPISODE [SEED] [FILE]                an episode in the phase plane

All planners have 0.1 s of CPU time a step. Episodes that FILE already holds are not played again. POMCPOW and PFT-DPW,
which use all of that time, play only if they are named: "told,pomcpow,pft-dpw".
"""

import csv
import sys
from pathlib import Path

import numpy as np

import pomdplite as pl
from pomdplite import rng

SECONDS = 0.1
NOMINAL = 1.0  # the mass of Gymnasium's Pendulum-v1
STEPS = 40  # of random torques, for the calibration
ROWS = ("planner", "seed", "episode", "mass", "return", "success", "seconds", "slowest")


TOLD = "told"
USUAL = f"pomdp-lite,mean-mdp,nominal,{TOLD}"
KINDS = {"mean-mdp": pl.MeanMdp, "pomcpow": pl.Pomcpow, "pft-dpw": pl.PftDpw}  # the others are POMDP-lite


def planner_for(name, model):
    """A planner, on the CPU's clock."""
    planner = KINDS.get(name, pl.PomdpLite)(model, time=SECONDS)
    planner.use_clock("cpu")
    return planner


def play(planner, world, seed, episode):
    """The return of an episode, whether it was a success, and the mean and longest decision in seconds."""
    seconds = []
    played = pl.run_episode(planner, world, seed, episode, on_step=lambda step: seconds.append(step.decision.seconds))
    return played.discounted, played.success, np.mean(seconds), np.max(seconds)


def episodes(count, seed=15, file=None, names=USUAL):
    """Play episodes, one after the other with every planner."""
    world, rows = pl.ModelWorld(pl.Pendulum()), []
    path = None if file is None else Path(file)
    if path is not None and path.exists():
        with path.open() as text:
            rows = list(csv.DictReader(text))
    known = {(row["planner"], int(row["seed"]), int(row["episode"])) for row in rows}
    wanted = names.split(",")
    planners = {
        name: planner_for(name, pl.Pendulum(mass=NOMINAL if name == "nominal" else None))
        for name in wanted
        if name != TOLD
    }
    for episode in range(count):
        world.reset(seed, episode)
        mass = float(world.theta.mass)
        for name in wanted:
            if (name, seed, episode) in known:
                continue
            planner = planner_for(name, pl.Pendulum(mass=mass)) if name == TOLD else planners[name]
            rows.append(dict(zip(ROWS, (name, seed, episode, mass, *play(planner, world, seed, episode)), strict=True)))
            if path is not None:
                with path.open("w", newline="") as text:
                    writer = csv.DictWriter(text, ROWS)
                    writer.writeheader()
                    writer.writerows(rows)
    report(rows)


def report(rows):
    """Mean return, its difference to the planner that is told the mass, successes and times."""
    returns = {}
    for row in rows:
        returns.setdefault(row["planner"], {})[row["episode"]] = row
    told = returns[TOLD]
    for name, played in returns.items():
        both = [e for e in played if e in told]
        total = np.array([float(played[e]["return"]) for e in both])
        more = total - np.array([float(told[e]["return"]) for e in both])
        successes = sum(str(played[e]["success"]) == "True" for e in both)
        error = 1 / np.sqrt(len(both))
        print(f"{name:12} {len(both)} episodes: return {total.mean():.1f} ± {total.std(ddof=1) * error:.1f}, "
              f"difference to told {more.mean():.2f} ± {more.std(ddof=1) * error:.2f}, {successes} successes, "
              f"{1e3 * np.mean([float(played[e]['seconds']) for e in both]):.1f} ms a decision, "
              f"at most {1e3 * max(float(played[e]['slowest']) for e in both):.1f}")  # fmt: skip


def calibration(count, seed=15):
    """Random torques for a few steps, and then whether the 95 % interval of the mass holds the true one."""
    world = pl.ModelWorld(pl.Pendulum())
    model, inside, widths = world.model, 0, []
    belief = pl.initial_belief(model)
    for episode in range(count):
        world.reset(seed, episode)
        belief.reset(episode)
        draws = rng.stream(seed, episode, rng.PLANNER)
        for _ in range(STEPS):
            x, a = world.x, int(rng.uniform(draws) * len(model.actions))
            result = world.step(a)
            belief.update(x, a, result.y, result.o)
        low, high = (belief.quantile(q)["mass"] for q in (0.025, 0.975))
        inside += low <= world.theta.mass <= high
        widths.append(high - low)
    print(f"the 95 % interval held the true mass in {inside} of {count} episodes of {STEPS} steps; "
          f"its mean width was {np.mean(widths):.3f}")  # fmt: skip


def picture(episode, seed=15, file="docs/pictures/pendulum.png"):
    """An episode in the phase plane, over the values that the planner computed last, and the belief about the mass."""
    from pomdplite.views.mpl import new_figure

    world, planner, steps = pl.ModelWorld(pl.Pendulum()), planner_for("pomdp-lite", pl.Pendulum()), []
    pl.run_episode(planner, world, seed, episode, on_step=steps.append)
    values = planner.solver.point_values(planner.s)
    figure = new_figure(10, 4)
    plane, mass = figure.subplots(1, 2, width_ratios=(1.3, 1))
    axes = planner.model.grid.axes(planner.model.state, "Pendulum")
    (angles, speeds) = (axis.low + axis.spacing * np.arange(axis.points) for axis in axes)
    around = np.append(angles, angles[0] + 2 * np.pi), np.concatenate([values, values[:1]])
    shades = plane.contourf(around[0], speeds, around[1].T, levels=20, cmap="cividis")
    figure.colorbar(shades, ax=plane, label="value")
    path = np.array([[step.x["angle"], step.x["speed"]] for step in steps])
    path[1:][np.abs(np.diff(path[:, 0])) > np.pi] = np.nan  # where the angle jumps from π to −π
    plane.plot(*path.T, color="white", lw=1.5)
    plane.plot(*path[0], "o", color="white", ms=6)
    plane.plot(0, 0, "*", color="white", ms=10)
    plane.set(xlabel="angle", ylabel="speed", xlim=(-np.pi, np.pi), ylim=(-8, 8))
    mean, low, high = np.array([step.marginals[0] for step in steps]).T
    mass.fill_between(range(len(steps)), low, high, color="#9dbfe6", label="95 % interval")
    mass.plot(mean, color="#1f5fbf", label="mean")
    mass.axhline(world.theta.mass, color="#454b57", ls="--", lw=1, label="true mass")
    mass.set(xlabel="step", ylabel="mass", ylim=(0.5, 2.0))
    mass.legend(frameon=False)
    figure.savefig(file, dpi=110)


if __name__ == "__main__":
    what, number, *more = sys.argv[1:]
    {"episodes": episodes, "calibration": calibration, "picture": picture}[what](
        int(number), *map(int, more[:1]), *more[1:]
    )
