"""The library in a minute: a rover must find out which rocks are worth the trip.

POMDP-lite and Mean MDP play the same 200 episodes of RockSample(7,8). Then the demo shows the highlights of one episode
and saves them as a picture.
"""

import time
from pathlib import Path

from rich.console import Console

import pomdplite as pl
from pomdplite.views import pictures, text
from pomdplite.views.terminal import print_in_full

EPISODES, SEED = 200, 2026
console = Console()


def main() -> None:
    started = time.perf_counter()
    console.print("[bold]pomdplite[/bold]: RockSample(7,8), 8 rocks, good or bad, on a 7 × 7 grid\n", highlight=False)
    with console.status("compiling (half a minute, the first time only) and building the model"):
        model = pl.make_model("rocksample-7-8")
        planners = [pl.PomdpLite(model), pl.MeanMdp(model)]
        for planner in planners:
            planner.reset()
            planner.decide()
    results = []
    for planner in planners:
        with console.status(f"playing {EPISODES} episodes with {planner.title}"):
            results.append(pl.evaluate("rocksample-7-8", planner, EPISODES, SEED))
    print_in_full(console, text.evaluation_table(results))
    gap = results[0].difference(results[1])
    console.print(
        f"On the same {EPISODES} episodes, POMDP-lite earns {gap.mean:.2f} ± {gap.stderr:.2f} more: it checks "
        "rocks before driving to them.\nTo Mean MDP an unknown rock is worth nothing on average, so it leaves.\n",
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
    seconds = time.perf_counter() - started
    console.print(f"\nThe same highlights as a picture: {picture}   ({seconds:.0f} s in total)", highlight=False)


if __name__ == "__main__":
    main()
