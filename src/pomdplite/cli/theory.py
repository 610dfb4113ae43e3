"""`pomdplite theory`: the paper's analysis of a problem, as numbers, a page or pictures."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from pomdplite.analysis.findings import findings
from pomdplite.cli.console import err, out
from pomdplite.cli.options import BetaOption, ProblemArgument, SeedOption
from pomdplite.cli.outputs import PAGE, PICTURE, check_output
from pomdplite.errors import UsageError
from pomdplite.planners.pomdp_lite import PomdpLite
from pomdplite.problems import make_model
from pomdplite.views.mpl import require_matplotlib
from pomdplite.views.theory.drawing import figure
from pomdplite.views.theory.page import facts, theory_page
from pomdplite.views.theory.panels import panels


def theory(
    problem: ProblemArgument,
    epsilon: Annotated[float, typer.Option(help="ε of the analysis, a share of the range of rewards")] = 0.1,
    beta: BetaOption = None,
    episodes: Annotated[int, typer.Option("--episodes", "-n", min=1, help="number of simulated episodes")] = 10,
    seed: SeedOption = 0,
    html: Annotated[
        Path | None, typer.Option(help="write an HTML page with figures to this file; an older page is overwritten")
    ] = None,
    pictures: Annotated[
        Path | None, typer.Option(help="folder to write the figures to; older ones are overwritten")
    ] = None,
) -> None:
    """Analyse a problem as the paper does: sample complexity, optimism, known set, suboptimal steps."""
    if html is not None:
        check_output(html, PAGE)
    if pictures is not None:
        require_matplotlib()
        _make(pictures)
    planner = PomdpLite(make_model(problem), beta, solver="exact")
    with err.status(f"analysing {problem}"):
        found = findings(planner, epsilon, episodes=episodes, seed=seed)
    table = Table.grid("", "", padding=(0, 2))
    table.columns[0].no_wrap = True
    for name, value in facts(found).items():
        table.add_row(name, value)
    out.print(table, highlight=False)
    if pictures is not None:
        for panel in panels(found):
            path = pictures / f"{panel.name}.png"
            check_output(path, PICTURE)
            figure(panel).savefig(path, dpi=130)
        print(f"wrote pictures to {pictures}", file=sys.stderr)
    if html is not None:
        html.write_text(theory_page(found, problem), encoding="utf-8")
        print(f"wrote {html}", file=sys.stderr)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write pictures to {folder}: {error.strerror}.") from None
