"""`pomdplite export`: write a model to a file for other programs."""

from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.console import out
from pomdplite.cli.options import ProblemArgument
from pomdplite.cli.outputs import check_output, model_file
from pomdplite.formats.writing import save
from pomdplite.problems import make_model


def export(
    problem: ProblemArgument, path: Annotated[Path, typer.Argument(help="file to write; ends in .pomdp or .pomdpx")]
) -> None:
    """Write a problem to a .pomdp or .pomdpx file, for SARSOP, pomdp-solve and other programs."""
    check_output(path, model_file(path))
    save(make_model(problem), path)
    out.print(f"{path}: {path.stat().st_size:,} bytes", highlight=False, markup=False, soft_wrap=True)
