"""Pictures of steps: numbers that can be read."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.views.text import brief

pytest.importorskip("matplotlib")


class Drift(pl.Model):
    """Every step costs 1; the state is a real number."""

    state = pl.State(place=float)
    hidden = pl.Hidden(wind=(0.1, 0.3))
    actions = ("wait", "go")
    discount = 0.9
    compiled = False

    def transition(m, x, theta, a, y):
        y.place = x.place + a * theta.wind

    def reward(m, x, theta, a):
        return -1.0 - a

    def terminal(m, x):
        return x.place > 1.0


def figure_of(x):
    from pomdplite.views.mpl import new_figure
    from pomdplite.views.pictures import paint, paint_decision

    model = Drift()
    planner = pl.PomdpLite(model, beta=0, sims=50)
    planner.reset()
    figure = new_figure(10, 5)
    left, right = figure.subplots(1, 2)
    paint(model, left, model.state_record({"place": x}), [np.array([0.5, 0.5])])
    paint_decision(model, right, planner.decide())
    return left, right


def test_values_below_zero_have_room_for_their_numbers():
    _, axes = figure_of(0.0)
    least, largest = axes.get_xlim()
    starts = [text.get_position()[0] for text in axes.texts]
    assert starts and all(0.0 < start < largest - 0.1 * (largest - least) for start in starts)


def test_a_state_in_real_numbers_has_a_title_that_can_be_read():
    axes, _ = figure_of(-0.5131139159202576)
    assert axes.get_title() == "place=-0.5131"


@pytest.mark.parametrize(
    ("words", "short"),
    [
        ("row=3 door=open", "row=3 door=open"),
        ("a=-1.2345678 b=[0.25, 3.14159265]", "a=-1.235 b=[0.25, 3.142]"),
        ("speed=1.23456789e-05", "speed=1.235e-05"),
    ],
)
def test_long_numbers_are_cut_to_four_digits(words, short):
    assert brief(words) == short
