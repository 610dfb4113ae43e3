"""`pomdplite report`: a study's results as tables for the terminal or a paper, as numbers, or as a web page."""

from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.console import out
from pomdplite.errors import UsageError
from pomdplite.experiments.files import is_database
from pomdplite.experiments.studies.results import Results
from pomdplite.views.page import page
from pomdplite.views.report import csv_text


def report(
    study: Annotated[Path, typer.Argument(help="a study's file, finished or not")],
    latex: Annotated[bool, typer.Option("--latex", help="print the tables in LaTeX")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="print the tables in GitHub Markdown")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="print one line per cell, with all its numbers")] = False,
    html: Annotated[Path | None, typer.Option(help="write a web page with tables and figures to this file")] = None,
) -> None:
    """Print a study's tables: the best in bold, † marks those not distinguishable from it."""
    if latex + markdown + csv > 1:
        raise UsageError("give only one of --latex, --markdown and --csv.")
    if html is not None and not html.parent.is_dir():
        raise UsageError(f"cannot write {html}: there is no folder {html.parent}.")
    if html is not None and is_database(html):
        raise UsageError(f"cannot write a page to {html}: it is a database.")
    results = Results.read(study)
    if not results.cells:
        raise UsageError(f"{study}: the study has no cells.")
    if csv:
        typer.echo(csv_text(results), nl=False)
    elif latex or markdown:
        typer.echo(results.table().latex() if latex else results.table().markdown(), nl=False)
    elif html is None:
        print_tables(results)
    if html is not None:
        try:
            html.write_text(page(results), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {html}: {error.strerror}.") from None
        typer.echo(f"wrote {html}", err=True)


def print_tables(results: Results) -> None:
    """Print the tables: on a terminal fitted to its width, elsewhere as wide as they are."""
    if out.is_terminal:
        out.print(results.table())
    else:
        typer.echo(str(results.table()), nl=False)
