"""`pomdplite bench`: run a study into its file, with progress on the terminal and tables at the end."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from pomdplite.cli.console import err, out
from pomdplite.cli.progress import ProgressDisplay
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments import Results, Study
from pomdplite.experiments.studies.study import shipped_studies
from pomdplite.views.tables import tables
from pomdplite.views.terminal import print_in_full


def bench(
    study: Annotated[str | None, typer.Argument(help="study name, or path of a .toml file")] = None,
    file: Annotated[Path | None, typer.Option("--out", help="file for the episodes; resumed if it exists")] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="number of processes; default: one per core")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", "-n", min=1, help="episodes per cell; default: what the study says")
    ] = None,
    dask: Annotated[str | None, typer.Option(help="address of a Dask scheduler to play on, tcp://host:port")] = None,
    list_: Annotated[bool, typer.Option("--list", help="list the studies that come with the library")] = False,
) -> None:
    """Run a study and store every episode in a file; only missing episodes are played."""
    if list_:
        out.print(_shipped_table())
        return
    if study is None or file is None:
        raise UsageError("give a study and a file: pomdplite bench STUDY --out FILE. `bench --list` lists the studies.")
    if dask is not None and workers is not None:
        raise UsageError("--workers are processes of this machine; with --dask the cluster's workers play.")
    found = Study.find(study)
    display = ProgressDisplay(lines=True)
    command = ["pomdplite", "bench", study, "--out", str(file)]
    if episodes is not None:
        found = found.with_episodes(episodes)
        command += ["--episodes", str(episodes)]
    command += ["--workers", str(workers)] if workers else ["--dask", dask] if dask else []
    try:
        with display.bars:
            results = found.run(file, workers=workers, dask=dask, listener=display)
    except KeyboardInterrupt:
        if display.total is None:  # it had not started
            raise
        _stopped("interrupted", file, command)
        raise typer.Exit(130) from None
    except PomdpLiteError:
        if display.total is not None:
            _stopped("stopped by an error", file, command)
        raise
    if display.total == display.done:
        err.print(f"{file} already holds all {display.done:,} episodes", highlight=False)
    print_in_full(out, tables(results))


def _stopped(why: str, file: Path, command: Sequence[str]) -> None:
    """Print the results so far, and how to resume."""
    results = Results.read(file)
    print_in_full(out, tables(results))
    stored = sum(len(r.episodes) for r in results.cells)
    err.print(f"{why}; {stored:,} episodes are in {file}, {results.missing:,} are missing. To resume:", highlight=False)
    err.print(f"  {shlex.join(command)}", highlight=False, soft_wrap=True, markup=False)


def _shipped_table() -> Table:
    table = Table("study", "description", "cells", "episodes", box=None, padding=(0, 2, 0, 0))
    for name in shipped_studies():
        study = Study.named(name)
        table.add_row(name, study.title, str(len(study.cells)), f"{sum(c.episodes for c in study.cells):,}")
    return table
