"""The spaces of a model: records and their words, hidden values and their tables."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.model.hidden_table import hidden_table
from pomdplite.model.records import empty_record, from_words, to_words


def test_records_are_whole_words_and_survive_the_way_to_words_and_back():
    state = pl.State(flag=bool, row=np.int16, speed=float, grid=(np.int8, 5), door=("open", "shut"))
    assert state.dtype.itemsize % 8 == 0
    x = empty_record(state.dtype)
    x.flag, x.row, x.speed, x.grid[2], x.door = True, -3, 2.5, 7, 1
    y = from_words(state.dtype, to_words(state.dtype, x))
    assert (y.flag, y.row, y.speed, y.grid.tolist(), y.door) == (True, -3, 2.5, [0, 0, 7, 0, 0], 1)
    assert state.describe(x) == "flag=True row=-3 speed=2.5 grid=[0, 0, 7, 0, 0] door=shut"


def test_minus_zero_and_zero_are_one_state():
    state = pl.State(speed=float)
    x, y = empty_record(state.dtype), empty_record(state.dtype)
    x.speed, y.speed = 0.0, -0.0
    assert np.array_equal(to_words(state.dtype, x), to_words(state.dtype, y))


def test_hidden_values_are_numbers_themselves_or_indices_of_names():
    hidden = pl.Hidden(mass={0.5: 0.25, 2.0: 0.75}, kind=("a", "b", "c"))
    theta = hidden.record([1, 2])
    assert (theta.mass, theta.kind) == (2.0, 2)
    assert hidden.indices(theta) == [1, 2]
    assert hidden.describe(theta) == "mass=2.0 kind=c"
    assert hidden.size == 6


@pytest.mark.parametrize("joint", [True, False])
def test_a_table_lists_values_with_their_prior(joint):
    hidden = pl.Hidden(mass={0.5: 0.25, 2.0: 0.75}, kind=("a", "b", "c"))
    table = hidden_table(hidden, joint=joint, evolves=True)
    assert table.offsets.tolist() == ([0, 6, 7] if joint else [0, 2, 5, 6])
    marginals = table.marginals(table.prior)
    np.testing.assert_allclose(marginals[0], [0.25, 0.75])
    np.testing.assert_allclose(marginals[1], [1 / 3] * 3)


def test_maps_wider_than_a_word_keep_every_entry():
    hidden = pl.Hidden(cell=tuple(range(42)))
    table = hidden_table(hidden, joint=True, evolves=True)
    assert table.map_words == 5  # 42 entries of 6 bits, 10 to a word
    read = [
        (int(table.identity[w]) >> int(s)) & int(table.map_mask[0])
        for w, s in zip(table.map_word[:42], table.map_shift[:42], strict=True)
    ]
    assert read == list(range(42))


def test_values_that_the_prior_rules_out_have_no_map():
    hidden = pl.Hidden(cell={cell: 0.25 if cell > 37 else 0.0 for cell in range(42)})
    table = hidden_table(hidden, joint=True, evolves=True)
    assert table.map_words == 1  # 4 entries of 6 bits
    assert table.map_word.tolist() == [*[-1] * 38, 0, 0, 0, 0, 0]
    assert [(int(table.identity[0]) >> int(shift)) & 63 for shift in table.map_shift[38:42]] == [38, 39, 40, 41]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.Hidden(), "at least one component"),
        (lambda: pl.Hidden(a=()), "no values"),
        (lambda: pl.Hidden(a=("x", "x")), "duplicate values"),
        (lambda: pl.Hidden(a=("x", 1)), "mixes names and numbers"),
        (lambda: pl.Hidden(a={"x": 0.5, "y": 0.6}), "sums to 1.1"),
        (lambda: pl.Hidden(a="left"), "expected a tuple of values"),
        (lambda: pl.Hidden(a=pl.independent(3, ("x", "y"), prior=[0.1, 0.2, 0.7])), "prior has shape"),
        (lambda: pl.Hidden(a=pl.independent(2, {"x": 0.5, "y": 0.5}, prior=[0.5, 0.5])), "two priors"),
        (lambda: pl.independent(0, ("x", "y")), "count must be a positive integer"),
        (lambda: pl.Hidden(a=((1, 2), (3, 4))), "must be names or numbers"),
        (lambda: pl.Population(), "needs the fields"),
        (lambda: pl.State(size=int), "NumPy's records use that name"),
        (lambda: pl.State(x=dict), "not a type that a state can hold"),
        (lambda: pl.State(x=(int, 3, 4)), "expected a type, a tuple of names"),
    ],
)
def test_bad_layouts_are_refused_with_a_reason(make, message):
    with pytest.raises(pl.ModelError, match=message):
        make()


def test_a_message_about_many_values_is_still_a_sentence():
    with pytest.raises(pl.ModelError, match="sums to 121") as prior:
        pl.Hidden(position=dict.fromkeys(range(121), 1.0))
    with pytest.raises(pl.ModelError, match="mixes names and numbers") as values:
        pl.Hidden(position=(*range(121), "lost"))
    assert len(str(prior.value)) < 200
    assert len(str(values.value)) < 200


def test_independent_components_share_values_and_may_have_their_own_priors():
    hidden = pl.Hidden(rock=pl.independent(2, ("bad", "good"), prior=[[0.5, 0.5], [0.1, 0.9]]))
    assert [c.name for c in hidden.components] == ["rock[0]", "rock[1]"]
    assert [c.prior.tolist() for c in hidden.components] == [[0.5, 0.5], [0.1, 0.9]]
    assert hidden.record([1, 0]).rock.tolist() == [1, 0]


def test_states_and_hidden_values_may_hold_arrays_of_booleans():
    class Lamps(pl.Model):
        state = pl.State(lit=(bool, 3))
        hidden = pl.Hidden(wired=pl.independent(3, (False, True)))
        actions = ("press-0", "press-1", "press-2")
        discount = 0.9

        def transition(m, x, theta, a, y):
            if theta.wired[a]:
                y.lit[a] = True

        def reward(m, x, theta, a):
            return 1.0 if theta.wired[a] and not x.lit[a] else -0.1

        def depends(m, x, a):
            return a

    assert pl.check_model(Lamps()).ok
    for planner in (pl.PomdpLite(Lamps(), beta=0.1), pl.BayesOptimal(Lamps(), search_depth=4)):
        planner.reset()
        assert planner.decide().value > 0


@pytest.mark.parametrize("compiled", [True, False])
def test_minus_zero_and_zero_are_one_hidden_value(compiled):
    class Flip(pl.Model):
        hidden = pl.Hidden(v=(-1.0, 0.0, 1.0))
        actions = ("turn",)
        discount = 0.5

        def transition(m, x, theta, a, y):
            pass

        def reward(m, x, theta, a):
            return theta.v

        def evolve(m, x, theta, a, theta_next):
            theta_next.v = -theta.v

    model = Flip()
    model.compiled = compiled
    planner = pl.MeanMdp(model)
    planner.reset()
    assert abs(planner.decide().value) < 1e-9
