"""`pomdplite report`: the results of a study as tables, numbers or an HTML page."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pomdplite.cli.console import out
from pomdplite.cli.outputs import PAGE, check_output
from pomdplite.errors import UsageError
from pomdplite.experiments.studies.results import Results
from pomdplite.views.page import report_page
from pomdplite.views.tables import csv_text, tables
from pomdplite.views.terminal import print_in_full


def report(
    study: Annotated[Path, typer.Argument(help="the file of a study, finished or not")],
    latex: Annotated[bool, typer.Option("--latex", help="print the tables as LaTeX")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="print the tables as Markdown")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="print all numbers as CSV, one line per entry")] = False,
    html: Annotated[
        Path | None,
        typer.Option(help="write an HTML page with tables and figures to this file; an older page is overwritten"),
    ] = None,
) -> None:
    """Print the tables of a study: the best in bold, † for entries that are not significantly worse."""
    if latex + markdown + csv > 1:
        raise UsageError("--latex, --markdown and --csv all print to the terminal: choose one.")
    if html is not None:
        check_output(html, PAGE)
    results = Results.read(study)
    if not results.cells:
        raise UsageError(f"{study}: the study has no entries.")
    page = None if html is None else report_page(results)
    if csv:
        print(csv_text(results), end="")
    elif latex or markdown:
        print(tables(results).latex() if latex else tables(results).markdown(), end="")
    elif html is None:
        print_in_full(out, tables(results))
    if html is not None and page is not None:
        try:
            html.write_text(page, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {html}: {error.strerror}.") from None
        print(f"wrote {html}", file=sys.stderr)
