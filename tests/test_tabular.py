"""Models from arrays and dictionaries."""

import numpy as np
import pytest

import pomdplite as pl

TIGER = {
    "transition": {("shut", "listen"): "shut", ("shut", "left"): "open", ("shut", "right"): "open"},
    "reward": {
        ("shut", "listen"): -1,
        ("shut", "L", "left"): -100, ("shut", "R", "left"): 10,
        ("shut", "R", "right"): -100, ("shut", "L", "right"): 10,
    },
    "observation": {
        ("*", "L", "listen"): {"hear-left": 0.85, "hear-right": 0.15},
        ("*", "R", "listen"): {"hear-left": 0.15, "hear-right": 0.85},
    },
}  # fmt: skip
NAMES = {
    "states": ("shut", "open"), "hidden": ("L", "R"), "actions": ("listen", "left", "right"),
    "observations": ("hear-left", "hear-right"), "terminal": ("open",), "discount": 0.95,
}  # fmt: skip


def test_dictionaries_and_classes_give_the_same_decisions():
    table, own = (pl.PomdpLite(m, beta=30.0) for m in (pl.tabular(**TIGER, **NAMES), pl.Tiger()))
    for planner in (table, own):
        planner.reset()
    for sound in ("hear-left", "hear-left", "hear-right"):
        np.testing.assert_allclose(table.decide().solution.q, own.decide().solution.q, atol=1e-9)
        for planner in (table, own):
            planner.update("listen", planner.state, sound)
    assert pl.check_model(table.model).ok


def test_specific_keys_take_precedence_over_general_ones_in_any_order():
    keys = [(("*", "*"), 1.0), (("shut", "L", "left"), 3.0), (("shut", "left"), 2.0)]
    for order in (keys, keys[::-1]):
        m = pl.tabular(**{**TIGER, "reward": dict(order)}, **NAMES)
        assert m.gain[0].tolist() == [[1.0, 3.0, 1.0], [1.0, 2.0, 1.0]]


def test_the_callers_arrays_are_left_alone():
    t = np.zeros((2, 2, 1, 2))
    t[0, :, :, 1] = 1.0
    before = t.copy()
    pl.tabular(t, np.ones((2, 2, 1)), discount=0.9, terminal=(1,))
    assert np.array_equal(t, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"transition": {("shut", "listen"): "shut"}}, r"transition sums to 0 over x', not 1, at x = shut"),
        ({"transition": {("shut", "*"): {"open": 0.5, "shut": 0.6}}}, r"sums to 1.1"),
        ({"transition": {("shut", "*"): "ajar"}}, "'ajar' is not in states"),
        ({"transition": {("shut",): "open"}}, r"not \(x, theta, a\) or \(x, a\)"),
        ({"reward": {("shut", "L", "knock"): 1.0}}, "'knock' is not in actions"),
        ({"reward": {("shut", "left"): float("nan")}}, "reward is nan at x = shut, theta = L, action 'left'"),
        ({"observation": {("*", "listen"): {"hear-left": -0.5, "hear-right": 1.5}}}, "probability -0.5"),
        ({"states": None}, r"pass states=\(...\)"),
        ({"prior": (0.5, 0.2, 0.3)}, "3 probabilities for 2 hidden values"),
        ({"start": "ajar"}, "'ajar' is not in states"),
        ({"legal": [[True]]}, "legal has shape"),
    ],
)
def test_mistakes_in_dictionaries_are_named(change, message):
    with pytest.raises(pl.ModelError, match=message):
        pl.tabular(**{**TIGER, **NAMES, **change})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[[1.0]]], [[1.0]]), "no table depends on the hidden value"),
        (([[[[0.5, 0.5]]]], [[[1.0]]]), "1 states x but 2 next states"),
        (([[[[1.0]], [[1.0]]]], [[[1.0], [1.0], [1.0]]]), "disagree on the number of hidden values"),
        (([[1.0]], [[[1.0], [2.0]]]), "transition has 2 dimensions"),
    ],
)
def test_mistakes_in_arrays_are_named(arguments, message):
    with pytest.raises(pl.ModelError, match=message):
        pl.tabular(*arguments, discount=0.9)


def test_the_repeated_tiger_is_not_a_pomdp_lite():
    """After a door is opened the tiger is placed again, at random."""
    placed = np.zeros((1, 2, 3, 2))
    placed[0, [0, 1], 0, [0, 1]] = 1.0
    placed[0, :, 1:] = 0.5
    with pytest.raises(pl.NotPomdpLiteError, match=r"changes at random\. P\(.*= 0\.5\."):
        pl.tabular(np.ones((1, 3, 1)), [[[-1, -100, 10], [-1, 10, -100]]], discount=0.95, hidden_next=placed)
    with pytest.raises(pl.NotPomdpLiteError, match="changes at random"):
        pl.tabular(**TIGER, **NAMES, hidden_next={("shut", "*", "left"): {"L": 0.5, "R": 0.5}})


def test_a_deterministic_change_given_as_probabilities_is_fine():
    flip = np.zeros((1, 2, 1, 2))
    flip[0, 0, 0, 1] = flip[0, 1, 0, 0] = 1.0
    m = pl.tabular(np.ones((1, 1, 1)), [[[0.0], [1.0]]], discount=0.5, hidden_next=flip)
    planner = pl.MeanMdp(m)
    planner.reset()
    assert abs(planner.decide().value - 1.0) < 1e-6  # half a point in every step, on average
