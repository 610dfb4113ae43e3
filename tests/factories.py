"""Results of studies built by hand from lists of returns."""

import functools

import pomdplite as pl
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.studies.results import CellResult, Results
from pomdplite.worlds import Scenario


def episodes(returns, success=None, notes=(), cut=False):
    """Episodes with these returns: a list, or a dictionary by index."""
    by_index = returns if isinstance(returns, dict) else dict(enumerate(returns))
    return tuple(
        pl.Episode(i, float(r), float(r), 4, 0.004, success, cut, tuple(notes)) for i, r in sorted(by_index.items())
    )


def cell(problem, planner, returns=(), wanted=None, reason=None, success=None, notes=(), **parameters):
    played = episodes(returns, success, notes)
    return CellResult(Cell(Scenario.parse(problem), planner, parameters, wanted or len(played) or 10), played, reason)


def results(*cells, title="A study", clock="wall", configuration='title = "A study"\n', settings=None):
    versions, machine = {"python": "3.11.7"}, {"cores": "2"}
    return Results(title, 0, clock, tuple(cells), configuration, versions, machine, settings or {})


@functools.cache
def played_results():
    """A small study that was really played: sweeps of β and simulations, planners with neither, and one that fails."""
    cells = []
    for problem in ("tiger", "rocksample-4-4"):
        for planner, parameters in (
            ("qmdp", {}), ("pomcp", {"sims": 4}), ("pomcp", {"sims": 40}), ("mean-mdp", {}),
            *(("pomdp-lite", {"beta": beta}) for beta in (0.5, 10.0, 100.0)),
        ):  # fmt: skip
            found = pl.evaluate(problem, planner, episodes=30, **parameters)
            cells.append(CellResult(Cell(Scenario.parse(problem), planner, parameters, 30), found.episodes))
    battleship = Scenario("battleship-5-2")
    cells.append(CellResult(Cell(battleship, "qmdp", {}, 30), (), "Battleship: its values cannot be listed."))
    cells.append(CellResult(Cell(battleship, "mean-mdp", {}, 30), cells[0].episodes[:7]))
    return results(*cells, title="Tiger & RockSample <small>")
