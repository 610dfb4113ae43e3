"""What is used, and what qualifies a result, is said where people look."""

import sys

import pytest
from factories import cell, results

import pomdplite as pl
from pomdplite.cli import main as cli
from pomdplite.experiments.episodes.players import CANNOT_PLAN
from pomdplite.views import text
from pomdplite.views.terminal import plain_text
from pomdplite.views.text import Comparison


class Nap(pl.Model):
    """Rewards from -2 to 8, and no β of its own."""

    state = pl.State(done=bool)
    hidden = pl.Hidden(tired=(False, True))
    actions = ("sleep", "work")
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.done = True

    def reward(m, x, theta, a):
        return 8.0 if (a == 0) == theta.tired else -2.0

    def terminal(m, x):
        return x.done


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["pomdplite", *map(str, arguments)])
    monkeypatch.setenv("COLUMNS", "200")
    with pytest.raises(SystemExit) as stop:
        cli.main()
    said = capsys.readouterr()
    assert stop.value.code == 0, said.err
    return " ".join(said.out.split())


def test_planners_say_which_beta_and_budget_they_use_and_why():
    default, given, own = pl.PomdpLite(Nap()), pl.PomdpLite(Nap(), 3), pl.PomdpLite(pl.make_model("tiger"))
    searching, timed = pl.PomdpLite(Nap(), solver="uct"), pl.Pomcp(Nap(), time=0.01)
    counted = pl.MeanMdp(Nap(), solver="uct", sims=2000)
    for planner in (default, given, own, searching, timed, counted):
        planner.prepare()
    assert default.choices[0].startswith("β = 0: chosen from 10") and default.choices[1] == "value iteration"
    assert given.choices == ("β = 3: given", "value iteration")
    assert own.choices == ("β = 30: the problem's own", "value iteration")
    assert searching.choices[1] == "0.1 s per step, the default"
    assert timed.choices == ("0.01 s per step",) and counted.choices == ("2,000 simulations per step",)


def test_show_and_run_say_which_beta_is_used(monkeypatch, capsys, tmp_path):
    (tmp_path / "nap.py").write_text("from test_said import Nap\nnap = Nap()\n")
    shown = command(monkeypatch, capsys, "show", f"{tmp_path / 'nap.py'}:nap")
    assert "β exploration weight by default 0: chosen from 10" in shown and "; exploring earns no more" in shown
    assert "30: the problem's own" in command(monkeypatch, capsys, "show", "tiger")
    ran = command(monkeypatch, capsys, "run", "tiger", "--beta", 4, "--solver", "uct", "-n", 1, "--sims", 10)
    assert "β = 4: given; 10 simulations per step" in ran


@pytest.mark.parametrize("name", ["bayes-optimal", "qmdp", "sarsop"])
@pytest.mark.parametrize("problem", ["rocksample-20-20", "battleship-5-2"])
def test_a_planner_that_cannot_does_not_suggest_what_is_not_there(name, problem):
    """No option that the planner lacks, and no `depends` for a model that has it or can have none."""
    with pytest.raises(CANNOT_PLAN) as error:
        pl.make_planner(name, pl.make_model(problem)).reset()
    assert "uct" not in str(error.value) and "depends" not in str(error.value)


NOTE = "the search did not close: the value is known to within 0.5 (increase nodes or search_depth)"


def marked_study():
    return results(
        cell("tiger", "bayes-optimal", [1.0, 2.0, 4.0], notes=(NOTE,)), cell("tiger", "qmdp", [1.0, 2.5, 3.0])
    )


def test_a_search_that_did_not_close_is_marked_beside_its_numbers():
    open_, closed = (
        pl.evaluate("tiger", "bayes-optimal", episodes=4, search_depth=depth, nodes=nodes)
        for depth, nodes in ((2, 1000), (200, 200_000))
    )
    assert open_.not_closed == 4 and closed.not_closed == 0
    for table in (text.evaluation_table, lambda found: text.comparison_table([Comparison(e, None) for e in found])):
        said = plain_text(table([open_]))
        assert "‡" in said.splitlines()[3] + said.splitlines()[4] and "‡: the search did not close" in said
        assert "‡" not in plain_text(table([closed]))


def test_reports_mark_a_search_that_did_not_close():
    tables = pl.tables(marked_study())
    assert "2.33 ± 0.88‡" in str(tables) and "‡: the search did not close" in str(tables)
    assert "2.33 ± 0.88‡" in tables.markdown() and "‡: the search did not close" in tables.markdown()
    latex = tables.latex()
    assert r"2.33 \pm 0.88{}^{\ddagger}{}" in latex and r"$^\ddagger$: the search did not close" in latex
    assert "‡" not in latex
