"""What the figures of a study show, drawn as SVG and with matplotlib."""

import sys
from xml.etree import ElementTree

import numpy as np
import pytest
from factories import cell, played_results, results

import pomdplite as pl
from pomdplite.experiments.studies.tables import curves, study_tables, swept
from pomdplite.views.figures import (
    difference_panels,
    histogram_panels,
    mean_panels,
    sweep_panels,
    time_panels,
)
from pomdplite.views.palette import Palette
from pomdplite.views.svg_figures import draw

NOISE = np.random.default_rng(3).normal(0, 1, 60)


def test_what_was_swept():
    study = played_results()
    assert swept(study) == ["sims", "beta"]
    (curve,) = curves(study, "tiger", "beta")
    assert curve.row.label == "pomdp-lite" and [x for x, _ in curve.points] == [0.5, 10.0, 100.0]
    assert swept(results(cell("p", "q", [1], ties="a"), cell("p", "q", [2], ties="b"))) == []


def test_plot_draws_the_sweep_or_the_means():
    pytest.importorskip("matplotlib")
    study = played_results()
    figure = pl.plot(study, "beta")
    assert [a.get_title() for a in figure.axes] == ["tiger", "rocksample-4-4"]
    assert figure.axes[0].get_xscale() == "log" and "β" in figure.axes[0].get_xlabel()
    assert pl.plot(study).axes[0].get_xlabel() == "budget per step, simulations"
    means = pl.plot(results(cell("p", "a", NOISE), cell("p", "b", [1.0])))
    assert [t.get_text() for t in means.axes[0].get_yticklabels()] == ["a", "b"]
    with pytest.raises(pl.UsageError, match="'depth' was not swept in this study; choose from: sims, beta"):
        pl.plot(study, "depth")


def test_plot_names_the_extra_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(pl.PomdpLiteError, match=r"pip install 'pomdplite\[plots\]'"):
        pl.plot(played_results())


def test_planners_with_one_entry_and_without_the_parameter_are_reference_lines():
    panel = sweep_panels(played_results(), "beta")[0]
    assert [s.label for s in panel.series] == ["pomdp-lite"] and panel.log_x and panel.ticks == [0.5, 10.0, 100.0]
    assert [line.label for line in panel.references] == ["qmdp", "mean-mdp"]  # pomcp has two entries


def test_points_carry_the_interval_of_their_evaluation():
    study = played_results()
    (curve,) = curves(study, "tiger", "beta")
    for point, (x, e) in zip(sweep_panels(study, "beta")[0].points, curve.points, strict=True):
        assert (point.x, point.mean, point.low, point.high) == (x, e.mean, *e.ci95)
    (panel,) = mean_panels(results(cell("p", "a", [2.0])))
    assert (panel.rows[0].low, panel.rows[0].high) == (2.0, 2.0)  # one episode has no interval


def test_curves_of_one_planner_have_different_dashes():
    study = results(*(cell("p", "a", NOISE, beta=b, ties=t) for b in (1.0, 2.0) for t in ("x", "y")))
    assert [s.dash for s in sweep_panels(study, "beta")[0].series] == [0, 1]


def test_every_entry_is_one_point_against_time_and_budgets_are_joined():
    panel = time_panels(played_results())[0]
    assert [(s.planner, len(s.points)) for s in panel.series] == [
        ("pomcp", 2), ("qmdp", 1), ("mean-mdp", 1), *[("pomdp-lite", 1)] * 3
    ]  # fmt: skip
    assert "pomcp 40 sims" in panel.series[0].points[1].tooltip


def test_differences_that_are_not_significant_are_hollow():
    study = results(cell("p", "best", NOISE), cell("p", "close", np.flip(NOISE) - 0.01), cell("p", "worse", NOISE - 1))
    (panel,) = difference_panels(study_tables(study)[0])
    assert [(row.label, row.hollow) for row in panel.rows] == [("close", True), ("worse", False)]


def test_histograms_of_a_problem_share_their_bins():
    study = results(cell("p", "a", [0.0, 0.0, 4.0]), cell("p", "b", [4.0]))
    (panel,) = histogram_panels(study_tables(study)[0])
    assert (panel.edges[0], panel.edges[-1]) == (0.0, 4.0)
    assert [(row.shares[0], row.shares[-1]) for row in panel.rows] == [(2 / 3, 1 / 3), (0.0, 1.0)]


def test_svg_and_matplotlib_draw_the_same_points():
    pytest.importorskip("matplotlib")
    study = played_results()
    for panel, axes in zip(sweep_panels(study, "beta"), pl.plot(study, "beta").axes, strict=True):
        lines = {line.get_label(): line for line in axes.lines}
        for series in panel.series:
            assert [tuple(xy) for xy in lines[series.label].get_xydata()] == [(p.x, p.mean) for p in series.points]
        assert set(lines) == {s.label for s in panel.series} | {r.label for r in panel.references}
        drawn = ElementTree.fromstring(draw(panel, Palette.of(study)))
        assert [t.text for t in drawn.iter("title")] == [p.tooltip for p in panel.points]


def test_plot_takes_studies_and_tunings_only():
    with pytest.raises(pl.UsageError, match="takes Results or a TuningResult, not list"):
        pl.plot([])
