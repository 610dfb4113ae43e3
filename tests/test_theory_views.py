"""`pomdplite theory`: the numbers, the page and the pictures of the paper's analysis."""

import dataclasses
import re
from xml.etree import ElementTree

import pytest

import pomdplite as pl
from pomdplite.analysis.findings import findings
from pomdplite.cli.main import execute
from pomdplite.views.svg import SignedLogScale
from pomdplite.views.theory import drawing
from pomdplite.views.theory.page import facts, theory_page
from pomdplite.views.theory.panels import panels, power_text


@pytest.fixture(scope="module")
def tiger():
    return findings(pl.PomdpLite(pl.Tiger(), solver="exact"), 0.1, episodes=3)


@pytest.fixture(scope="module")
def maze():
    return findings(pl.PomdpLite(pl.Maze(), solver="exact"), 0.1, episodes=2)


def test_facts_are_in_the_models_units(tiger):
    found = facts(tiger)
    assert found["range of rewards"] == "110, so that ε stands for 11"
    assert found["V* at the prior"] == "3.77" and found["β for which Ṽ ≥ V*, γ/(2(1 − γ))"] == "1,045"
    assert found["known pairs at the prior"] == "2, with a bonus below ε(1 − γ) = 0.55"
    assert found["sample complexity Σ ζ(s, a), expected"] == "9" and found["horizon T"] == "106 steps"


def test_the_bonus_of_a_deterministic_model_is_gone_after_one_visit_and_that_of_tiger_decays(tiger, maze):
    bonus = {found.model: panels(found)[0] for found in (tiger, maze)}
    assert [len(c.points) for c in bonus["Maze"].lines[:-1]] == [2, 2]
    (listening, worst, _) = bonus["Tiger"].lines
    assert listening.points[0][1] == pytest.approx(21) and listening.points[9][1] < 0.55 < listening.points[8][1]
    assert worst.points[10][1] == pytest.approx(21) and "worst case" in worst.label


def test_the_threshold_is_drawn_at_its_value_and_a_bonus_of_0_has_no_marker(maze):
    panel = panels(dataclasses.replace(maze, beta=1e5))[0]
    assert panel.guides[0].value == maze.threshold > panel.bottom
    assert [panel.marked(c) for c in panel.lines[:-1]] == [[0], [0]]  # gone after one visit
    markers = [e for e in ElementTree.fromstring(drawing.svg(panel)).iter() if e.get("class", "").startswith("mark ")]
    assert len(markers) == 2


def test_unknown_probabilities_have_a_panel_of_optimism_but_none_of_loss():
    found = findings(pl.PomdpLite(pl.SlipperyChain(discount=0.9, horizon=5), 3.0, solver="exact"), 0.1, episodes=1)
    assert [panel.name for panel in panels(found)] == ["bonus", "optimism", "known-set", "escape"]
    assert [guide.label for guide in panels(found)[1].guides] == ["", "the planner's β", "|S|²|A|/(1 − γ)²"]
    assert facts(found)["V* at the prior"].startswith("between ")


def test_shares_are_drawn_between_0_and_1(tiger):
    pytest.importorskip("matplotlib")
    for panel in (panel for panel in panels(tiger) if panel.name in ("known-set", "escape")):
        low, high = drawing.figure(panel).axes[0].get_ylim()
        assert low < 0 and high > 1


def test_curves_over_time_hold_the_last_value_of_an_ended_episode(tiger):
    lengths = [sum(s.episode == i for s in tiger.history.steps) for i in range(3)]
    known = next(panel for panel in panels(tiger) if panel.name == "known-set").lines[0]
    assert len(known.points) == max(lengths) and known.points[-1][1] == 1.0 == known.band[-1][0]
    assert known.points[0][1] == pytest.approx(2 / 3)


def test_every_panel_is_drawn_twice(tiger):
    pytest.importorskip("matplotlib")
    for panel in panels(tiger):
        root = ElementTree.fromstring(drawing.svg(panel))
        assert len(root.findall("path")) >= len(panel.lines)
        numbers = [
            float(v) for e in root.iter() for k, v in e.attrib.items() if k in ("x1", "x2", "cx", "y1", "y2", "cy")
        ]
        assert numbers and min(numbers) >= 0 and max(numbers) <= 360
        figure = drawing.figure(panel)
        assert figure.axes[0].get_xlabel() == panel.x_label


def test_the_page_holds_every_figure_and_nothing_from_elsewhere(tiger):
    pytest.importorskip("jinja2")
    page = theory_page(tiger, "tiger <1>")
    assert "tiger &lt;1&gt;: the analysis of POMDP-lite" in page and page.count("<figure>") == 5
    assert not re.search(r'(src|href)="(?!#|data:)', page)


def test_the_command_prints_writes_and_overwrites(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    page, folder = tmp_path / "theory.html", tmp_path / "pictures"
    for _ in range(2):
        assert execute(["theory", "tiger", "-n", "2", "--html", str(page), "--pictures", str(folder)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    names = {"bonus.png", "optimism.png", "known-set.png", "escape.png", "suboptimal.png"}
    assert {path.name for path in folder.iterdir()} == names
    assert "suboptimal steps" in capsys.readouterr().out
    (folder / "bonus.png").write_text("mine")
    assert execute(["theory", "tiger", "-n", "1", "--pictures", str(folder)]) == 2
    assert "is not overwritten" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tiger", "--epsilon", "1.5"], "epsilon must be between 0 and 1, a share of the range of rewards, not 1.5."),
        (["pendulum"], "needs the outcomes of every step listed, but Pendulum has noise in its steps."),
        (["no-such"], "no problem 'no-such'"),
    ],
)
def test_bad_input_gets_one_sentence(arguments, message, capsys):
    assert execute(["theory", *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said and len(said.strip().splitlines()) == 1


def test_numbers_that_may_be_very_large():
    assert [power_text(v) for v in (9, 1044.9, 1.14e7, 4.76e9)] == ["9", "1,045", "1.1 × 10⁷", "4.8 × 10⁹"]


def test_a_signed_logarithmic_scale_has_0_and_powers_of_ten_on_both_sides():
    scale = SignedLogScale([-30.0, 2000.0], 0.0, 100.0, width=0.1)
    assert scale.ticks(20) == [-10.0, -1.0, -0.1, 0.0, 0.1, 1.0, 10.0, 100.0, 1000.0]
    assert scale(-30) < scale(-1) < scale(0) < scale(0.1) < scale(2000) <= 100
