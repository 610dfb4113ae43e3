"""The intersection in highway-env: POMDP-lite beside planners that assume the mean or the worst driver, and searches.

    python benchmarks/intersection.py episodes PROBLEM PLANNER EPISODES [SEED] [FILE]    play, or play on
    python benchmarks/intersection.py table [FILE]                                       what FILE holds, as a table
    python benchmarks/intersection.py picture [FILE]                                     three episodes as curves
    python benchmarks/intersection.py film EPISODE [SEED] [FILE]                         an episode as a film

PROBLEM is intersection or intersection-2. PLANNER is one of the names below. Episodes that FILE already holds are not
played again. Time is that of the processor: searches have 0.05 s a step.
"""

import csv
import io
import sys
from pathlib import Path

import numpy as np

import pomdplite as pl
from pomdplite.problems.intersection.drivers import STEP, TYPES
from pomdplite.worlds.intersection import world as intersection_world
from pomdplite.worlds.intersection.crossing import FRAMES

FILE, SEED, SECONDS = "docs/results/intersection.csv", 16, 0.05
PLANNERS = {  # name: what the model assumes, the planner, its parameters
    "pomdp-lite": (None, "pomdp-lite", {}),
    "pomdp-lite, β = auto": (None, "pomdp-lite", {"beta": "auto"}),
    "mean-mdp": (None, "mean-mdp", {}),
    "qmdp": (None, "qmdp", {}),
    "most-likely": (None, "most-likely", {}),
    "assumes the mean driver": ("mean", "mean-mdp", {}),
    "assumes the worst driver": ("aggressive", "mean-mdp", {}),
    "assumes an inattentive driver": ("inattentive", "mean-mdp", {}),
    "pomdp-lite-plus": (None, "pomdp-lite-plus", {"time": SECONDS, "solve_time": 20.0}),
    "despot": (None, "despot", {"time": SECONDS}),
    "pomcp": (None, "pomcp", {"time": SECONDS}),
}
ROWS = ("problem", "planner", "seed", "episode", "drivers", "ending", "time", "return",
        "hardest", "acceleration", "steps", "milliseconds", "surprises")  # fmt: skip
ENDINGS = ("cut", "passed", "crashed")
SHOWN = (  # episodes of the picture
    (140, "pomdp-lite", "POMDP-lite"),
    (140, "mean-mdp", "Mean MDP, which does not explore"),
    (102, "pomdp-lite", "POMDP-lite creeps"),
)


def recorded(cars, kept):
    """The world, with its environment kept where its frames can be read."""
    model = pl.Intersection(cars)

    def make():
        kept.append(intersection_world.make_crossing(cars))
        return kept[-1]

    recipe = pl.GymnasiumWorld(make, intersection_world.state, hidden=intersection_world.put_drivers, name="highway")
    return recipe(model)


def planner_for(name, cars):
    """The planner, ready to play."""
    assumed, kind, parameters = PLANNERS[name]
    planner = pl.make_planner(kind, pl.Intersection(cars, assumed), **parameters)
    planner.use_clock("cpu")
    planner.prepare()
    return planner


def read(path):
    """The episodes that a file holds."""
    with path.open() as text:
        return list(csv.DictReader(text))


def episodes(problem, name, count, seed=SEED, file=FILE):
    """Play the episodes that the file does not hold yet."""
    count, seed, path, cars, kept = int(count), int(seed), Path(file), 2 if problem.endswith("-2") else 1, []
    rows = read(path) if path.exists() else []
    known = {int(r["episode"]) for r in rows if (r["problem"], r["planner"], r["seed"]) == (problem, name, str(seed))}
    world, planner = recorded(cars, kept), planner_for(name, cars)
    if not path.exists():
        path.write_text(",".join(ROWS) + "\n")
    with path.open("a", newline="") as text:
        writer = csv.writer(text)
        for episode in sorted(set(range(count)) - known):
            played = pl.run_episode(planner, world, seed, episode)
            env = kept[-1].unwrapped
            ego = np.array([frame.acceleration for frame in env.frames])
            drivers = "+".join(TYPES[kind] for kind in env.kinds)
            surprises = sum("impossible" in note for note in played.notes)
            writer.writerow((problem, name, seed, episode, drivers, ENDINGS[env.over], f"{crossing_time(env):.3f}",
                             f"{played.discounted:.4f}", f"{max(0.0, -ego.min()):.2f}",
                             f"{np.sqrt((ego**2).mean()):.3f}", played.steps,
                             f"{1e3 * played.seconds / played.steps:.3f}", surprises))  # fmt: skip
            text.flush()


def crossing_time(env):
    """Seconds until the ego was through, or until the episode ended."""
    return next((frame.time for frame in env.frames if frame.ego >= env.exit - 0.01), env.frames[-1].time)


def table(file=FILE):
    """Collisions, times and comfort of every planner, and the time saved on the same episodes."""
    rows = read(Path(file))
    for problem in dict.fromkeys(row["problem"] for row in rows):
        print(f"\n{problem}")
        print("| | episodes | collisions | not through in 30 s | time to pass, s | less than the worst-case planner | "
              "return | hardest braking, m/s² | RMS acceleration, m/s² | ms per decision |")  # fmt: skip
        print("|---|---|---|---|---|---|---|---|---|---|")
        of = {}
        for row in rows:
            if row["problem"] == problem:
                of.setdefault(row["planner"], {})[row["episode"]] = row
        worst = of.get("assumes the worst driver", {})
        for name in (name for name in PLANNERS if name in of):
            mine = of[name]

            def mean(column, mine=mine):
                values = np.array([float(row[column]) for row in mine.values()])
                return values.mean(), values.std(ddof=1) / np.sqrt(len(values))

            both = [e for e in mine if e in worst]
            saved = "–"
            if both and name != "assumes the worst driver":
                less = 1 - sum(float(mine[e]["time"]) for e in both) / sum(float(worst[e]["time"]) for e in both)
                saved = f"{100 * less:.1f} %"
            endings = [row["ending"] for row in mine.values()]
            print(f"| {name} | {len(mine)} | {endings.count('crashed')} | {endings.count('cut')} | "
                  f"{mean('time')[0]:.2f} ± {mean('time')[1]:.2f} | {saved} | "
                  f"{mean('return')[0]:.2f} ± {mean('return')[1]:.2f} | {mean('hardest')[0]:.2f} | "
                  f"{mean('acceleration')[0]:.2f} | {mean('milliseconds')[0]:.2f} |")  # fmt: skip
        for name in (name for name in ("pomdp-lite", "mean-mdp", "assumes the worst driver") if name in of):
            times = {}
            for row in of[name].values():
                times.setdefault(row["drivers"], []).append(float(row["time"]))
            if problem == "intersection":
                print(
                    name, {kind: f"{np.mean(times[kind]):.2f} ({len(times[kind])})" for kind in TYPES if kind in times}
                )
        if {"pomdp-lite", "mean-mdp"} <= of.keys():
            both = [e for e in of["pomdp-lite"] if e in of["mean-mdp"]]
            for column in ("time", "return"):
                more = np.array([float(of["pomdp-lite"][e][column]) - float(of["mean-mdp"][e][column]) for e in both])
                print(
                    f"{column}, POMDP-lite − Mean MDP: {more.mean():.3f} ± {more.std(ddof=1) / np.sqrt(len(more)):.3f}"
                )


def played(episode, seed, name="pomdp-lite", pictures=False):
    """The frames of an episode, the belief after each step, and a picture per frame."""
    kept, beliefs, shots = [], [], []
    world, planner = recorded(1, kept), planner_for(name, 1)
    world.reset(seed, episode)
    planner.reset(seed=0)
    beliefs.append(planner.belief.marginals()[0])
    env, over = kept[-1].unwrapped, False
    if pictures:
        env.on_frame = lambda: shots.append(env.render())
    while not over:
        action = planner.decide().action
        result = world.step(action)
        planner.update(action, result.y, result.o)
        beliefs.append(planner.belief.marginals()[0])
        over = result.terminated or result.truncated
    return env, np.array(beliefs), shots


def picture(file="docs/pictures/intersection.png"):
    """Positions, speeds and beliefs: an episode with and without exploration, and one in which the ego creeps."""
    from pomdplite.problems.intersection.drawing import COLORS
    from pomdplite.views.mpl import new_figure

    figure = new_figure(12, 6.5)
    axes = figure.subplots(3, 3, sharex=True, sharey="row", height_ratios=(1.2, 1, 1))
    for column, (episode, name, title) in enumerate(SHOWN):
        env, beliefs, _ = played(episode, SEED, name)
        times = [frame.time for frame in env.frames]
        place, speed, belief = axes[:, column]
        place.axhspan(-3.5, 3.5, color="#f5d6d6", lw=0, label="both here: collision")
        place.plot(times, [frame.ego for frame in env.frames], color="#e67e22", lw=2, label="ego")
        place.plot(times, [frame.cars[0] for frame in env.frames], color="#454b57", label="other car")
        place.set(ylim=(-26, 12))
        driver = TYPES[env.kinds[0]]
        place.set_title(f"{title}\na {driver} driver, through after {crossing_time(env):.1f} s", fontsize=10)
        speed.plot(times, [frame.speed for frame in env.frames], color="#e67e22", lw=2)
        speed.plot(times, [frame.speeds[0] for frame in env.frames], color="#454b57")
        for kind, label in enumerate(TYPES):
            belief.step(np.arange(len(beliefs)) * STEP, beliefs[:, kind], where="post", color=COLORS[kind], label=label)
        belief.set(ylim=(-0.03, 1.03), xlabel="seconds")
    for row, label in enumerate(("m from the crossing", "speed, m/s", "belief")):
        axes[row, 0].set_ylabel(label)
    axes[0, 0].legend(frameon=False, fontsize=8, loc="lower right")
    axes[2, 0].legend(frameon=False, fontsize=8, loc="center right")
    figure.savefig(file, dpi=110)


def film(episode, seed=SEED, file="docs/pictures/intersection.gif"):
    """The episode as highway-env shows it, with the belief beside it."""
    from PIL import Image

    from pomdplite.problems.intersection.drawing import COLORS
    from pomdplite.views.mpl import new_figure

    env, beliefs, shots = played(int(episode), int(seed), pictures=True)
    frames = []
    for i, shot in list(enumerate(shots))[::2]:
        figure = new_figure(2.6, len(shot) / 100)
        axes = figure.subplots()
        axes.barh(range(len(TYPES)), beliefs[int(i / FRAMES / STEP)], color=COLORS)
        axes.set(xlim=(0, 1), yticks=range(len(TYPES)), yticklabels=TYPES, xlabel="belief")
        axes.invert_yaxis()
        axes.set_title(f"{env.frames[i].time:.1f} s   ego {env.frames[i].speed:.1f} m/s", fontsize=9)
        drawn = io.BytesIO()
        figure.savefig(drawn, dpi=100, format="png")
        bars = np.asarray(Image.open(drawn).convert("RGB"))
        frames.append(Image.fromarray(np.hstack([shot, bars[: len(shot)]])).quantize(48))
    frames[0].save(file, save_all=True, append_images=frames[1:], duration=133, loop=0, optimize=True)
    print(f"{Path(file).stat().st_size / 1e6:.2f} MB, driver {TYPES[env.kinds[0]]}")


if __name__ == "__main__":
    what, *more = sys.argv[1:]
    {"episodes": episodes, "table": table, "picture": picture, "film": film}[what](*more)
