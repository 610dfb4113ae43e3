"""The acrobot in Gymnasium's Acrobot-v1: POMDP-lite beside rivals, a planner that knows the masses among them.

    python benchmarks/acrobot.py episodes EPISODES [SEED] [FILE] [PLANNERS] [TIME]   the same for every planner
    python benchmarks/acrobot.py take STUDY [FILE]                                   from the study applications
    python benchmarks/acrobot.py report [FILE]                                       what FILE holds so far
    python benchmarks/acrobot.py film EPISODE [SEED] [FILE]                          beside the belief

PLANNERS is a list with commas, all of them by default; TIME is CPU time a step, 0.1 s by default. Episodes that FILE
already holds are not played again, so that several runs, one after the other, add up.
"""

import csv
import sys
from pathlib import Path

import numpy as np

import pomdplite as pl

SECONDS = 0.1
NOMINAL = 1.0  # either mass in Gymnasium's Acrobot-v1
TOLD = "told"
PLANNERS = (TOLD, "pomdp-lite", "mean-mdp", "nominal", "pomcpow")
OWN = {"pomcpow": {"k_observation": 1.0}}  # the best of six settings on seed 1000
ROWS = ("planner", "time", "seed", "episode", "mass_1", "mass_2", "steps", "success", "seconds", "slowest", "notes")
RESULTS = "docs/results/acrobot.csv"


def planner_for(name, masses, seconds):
    """A planner, on the CPU's clock; masses are those of the episode."""
    model = pl.Acrobot(*{TOLD: masses, "nominal": (NOMINAL, NOMINAL)}.get(name, ()))
    kind = {"mean-mdp": pl.MeanMdp, "pomcpow": pl.Pomcpow}.get(name, pl.PomdpLite)
    planner = kind(model, time=seconds, **OWN.get(name, {}))
    planner.use_clock("cpu")
    return planner


def play(planner, world, seed, episode):
    """Steps of an episode, whether it was a success, the mean and longest decision in seconds, and notes."""
    seconds = []
    played = pl.run_episode(planner, world, seed, episode, on_step=lambda step: seconds.append(step.decision.seconds))
    return played.steps, played.success, round(np.mean(seconds), 5), round(np.max(seconds), 5), "; ".join(played.notes)


def held(path):
    """The rows of a file, if there is one."""
    if not path.exists():
        return []
    with path.open() as text:
        return list(csv.DictReader(text))


def episodes(count, seed=16, file=RESULTS, names="", time=SECONDS):
    """Play episodes, one after the other with every planner."""
    path, world, planners = Path(file), pl.make_world("acrobot", pl.Acrobot()), {}
    time, seed = float(time), int(seed)
    known = {(row["planner"], float(row["time"]), int(row["seed"]), int(row["episode"])) for row in held(path)}
    if not path.exists():
        path.write_text(",".join(ROWS) + "\n")
    for episode in range(int(count)):
        for name in names.split(",") if names else PLANNERS:
            if (name, time, seed, episode) in known:
                continue
            world.reset(seed, episode)
            masses = float(world.theta.mass_1), float(world.theta.mass_2)
            if name == TOLD or name not in planners:
                planners[name] = planner_for(name, masses, time)
            row = name, time, seed, episode, *masses, *play(planners[name], world, seed, episode)
            with path.open("a", newline="") as text:
                csv.writer(text, lineterminator="\n").writerow(row)
    report(file)


def take(study, file=RESULTS):
    """Add the episodes of a study that FILE does not hold; how long the slowest decision took is not known of them."""
    path, results = Path(file), pl.Results.read(study)
    masses = {(int(row["seed"]), int(row["episode"])): (row["mass_1"], row["mass_2"]) for row in held(path)}
    known = {(row["planner"], float(row["time"]), int(row["seed"]), int(row["episode"])) for row in held(path)}
    with path.open("a", newline="") as text:
        writer = csv.writer(text, lineterminator="\n")
        for result in (result for result in results.cells if result.cell.problem == "acrobot in acrobot"):
            name, time, seed = result.cell.planner, result.cell.parameters["time"], results.seed
            for e in result.episodes:
                if (name, time, seed, e.index) not in known:
                    seconds = round(e.seconds / e.steps, 5)
                    row = (
                        name,
                        time,
                        seed,
                        e.index,
                        *masses[seed, e.index],
                        e.steps,
                        e.success,
                        seconds,
                        "",
                        "; ".join(e.notes),
                    )
                    writer.writerow(row)
    report(file)


def report(file=RESULTS):
    """Mean steps, those of the planner that is told the masses on the same episodes, successes and times."""
    played = {}
    for row in held(Path(file)):
        played.setdefault((row["time"], row["planner"]), {})[row["seed"], row["episode"]] = row
    for (time, name), own in sorted(played.items()):
        known = played.get((time, TOLD), {})
        both = [key for key in own if key in known]
        if len(both) < 2:
            continue
        steps, told = (np.array([float(rows[key]["steps"]) for key in both]) for rows in (own, known))
        more, error = steps - told, 1 / np.sqrt(len(both))
        print(f"{time} s {name:12} {len(both)} episodes: {steps.mean():.1f} ± {steps.std(ddof=1) * error:.1f} steps, "
              f"at most {steps.max():.0f}, {more.mean():+.1f} ± {more.std(ddof=1) * error:.1f} or "
              f"{100 * more.mean() / told.mean():+.1f} % to told; {sum(own[key]['success'] == 'True' for key in both)} "
              f"swung up, {1e3 * np.mean([float(own[key]['seconds']) for key in both]):.1f} ms a decision, at most "
              f"{1e3 * max(float(own[key]['slowest'] or 0) for key in both):.1f}")  # fmt: skip


def film(episode, seed=16, file="docs/pictures/acrobot.gif"):
    """An episode in Gymnasium's pictures, beside the belief about the masses as it narrows."""
    from PIL import Image

    from pomdplite.views.mpl import new_figure
    from pomdplite.views.pictures import pixels

    world, frames, beliefs = pl.make_world("acrobot", pl.Acrobot()), [], []
    planner = planner_for("pomdp-lite", (), SECONDS)

    def keep(step):
        beliefs.append(np.array(step.marginals))
        frames.append(world.picture())

    played = pl.run_episode(planner, world, int(seed), int(episode), on_step=keep)
    masses, images = (world.theta.mass_1, world.theta.mass_2), []
    beliefs = np.array(beliefs)  # [step, mass, mean and both ends]
    for t, frame in enumerate(frames):
        figure = new_figure(6.0, 3.0)
        view, *marks = figure.subplot_mosaic([["view", "1"], ["view", "2"]], width_ratios=(1, 1.15)).values()
        view.imshow(frame)
        view.axis("off")
        view.set_title(f"step {t + 1}", fontsize=9)
        for link, axes in enumerate(marks):
            mean, low, high = beliefs[: t + 1, link].T
            axes.vlines(1 + np.arange(t + 1), low, high, color="#9dbfe6", lw=3)
            axes.plot(1 + np.arange(t + 1), mean, color="#1f5fbf", marker=".", ms=3)
            axes.axhline(masses[link], color="#454b57", ls="--", lw=1)
            axes.set(xscale="log", xlim=(0.8, 1.2 * played.steps), ylim=(0.4, 1.8), ylabel=f"mass {link + 1}")
            axes.minorticks_off()
            axes.set(xticks=(1, 2, 5, 10, 20, 50), xticklabels=("1", "2", "5", "10", "20", "50"))
        marks[1].set_xlabel("step")
        images.append(Image.fromarray(pixels(figure)).convert("P", palette=Image.Palette.ADAPTIVE, colors=32))
    times = [120] * (len(images) - 1) + [2500]
    images[0].save(file, save_all=True, append_images=images[1:], duration=times, loop=0, optimize=True)
    print(f"{file}: {played.steps} steps, masses {masses[0]:.2f} and {masses[1]:.2f}")


if __name__ == "__main__":
    what, *arguments = sys.argv[1:]
    {"episodes": episodes, "take": take, "report": report, "film": film}[what](*arguments)
