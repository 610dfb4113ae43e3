"""The main job in a minute: a rover that must find out which rocks are worth the way.

POMDP-lite and Mean MDP play the same 200 episodes of RockSample(7,8); then one episode's highlights, and a picture.
"""

import time
from pathlib import Path

from rich.console import Console
from rich.progress import track

import pomdplite as pl
from pomdplite.views import pictures, text
from pomdplite.views.terminal import print_in_full

EPISODES, SEED = 200, 2026
console = Console()


def main() -> None:
    started = time.perf_counter()
    console.print("[bold]pomdplite[/bold]: RockSample(7,8), 8 rocks of unknown kind on a 7 × 7 grid\n", highlight=False)
    with console.status(
        "compiling for the first time (half a minute; later runs start at once) and building the model"
    ):
        model = pl.make_model("rocksample-7-8")
        planners = [pl.PomdpLite(model), pl.MeanMdp(model)]
        for planner in planners:
            planner.reset()
            planner.decide()
    results = []
    for planner in planners:
        episodes = []
        world = pl.ModelWorld(model)
        for index in track(range(EPISODES), description=f"{planner.title:>10}", console=console, transient=True):
            episodes.append(pl.run_episode(planner, world, SEED, index))
        results.append(pl.Evaluation("rocksample-7-8", planner.title, planner.parameters, SEED, tuple(episodes),
                                     planner.preparation_seconds))  # fmt: skip
    print_in_full(console, text.evaluation_table(results))
    gap, error = results[0].difference(results[1])
    console.print(
        f"On the same {EPISODES} episodes, POMDP-lite earns {gap:.2f} ± {error:.2f} more: it looks before it goes.\n"
        "Mean MDP thinks a rock of unknown kind is worth nothing on average, and leaves.\n",
        highlight=False,
    )

    steps: list[pl.Step] = []
    episode = pl.run_episode(planners[0], pl.ModelWorld(model), SEED, 0, steps.append)
    console.print(f"Highlights of one episode (return {episode.discounted:.2f} in {episode.steps} steps):")
    for step in pictures.highlights(steps, 4):
        text.print_step(console, model, step)
    folder = Path("demo")
    folder.mkdir(exist_ok=True)
    picture = folder / "rocksample-7-8.png"
    pictures.save_highlights(model, steps, picture, f"RockSample(7,8), POMDP-lite: return {episode.discounted:.2f}")
    console.print(
        f"\nThe same as a picture: {picture}   ({time.perf_counter() - started:.0f} s in all)", highlight=False
    )


if __name__ == "__main__":
    main()
