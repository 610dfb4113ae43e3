"""Pictures for docs/gallery.md: the most telling steps of an episode, as one small file.

    python benchmarks/gallery.py table-carrying bayes-optimal 1000 0 docs/pictures/table-carrying.png

Arguments: problem, planner, seed, episode, file, and optionally how many steps (6).
"""

import sys
from pathlib import Path

from PIL import Image

import pomdplite as pl
from pomdplite.views import pictures

LARGEST = 150_000  # bytes of a picture in the gallery


def main(problem: str, planner: str, seed: int, episode: int, file: Path, most: int = 6) -> None:
    model = pl.make_model(problem)
    steps: list[pl.Step] = []
    played = pl.run_episode(pl.make_planner(planner, model), pl.ModelWorld(model), seed, episode, steps.append)
    title = f"{problem}, {planner}: return {played.discounted:.2f} in {played.steps} steps"
    pictures.save_highlights(model, steps, file, title, most)
    with Image.open(file) as image:  # 256 colours are enough, and take a third of the space
        few = image.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    few.save(file, optimize=True)
    size = file.stat().st_size
    if size > LARGEST:
        sys.exit(f"{file} has {size:,} bytes, more than {LARGEST:,}; show fewer steps.")
    print(f"{file}: {title}, {size:,} bytes")


if __name__ == "__main__":
    problem, planner, seed, episode, file, *most = sys.argv[1:]
    main(problem, planner, int(seed), int(episode), Path(file), *map(int, most))
