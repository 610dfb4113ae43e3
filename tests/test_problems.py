"""The problems that ship with the library, their registry, and models from users' files."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from known_values import ROCKSAMPLE_STATES
from problem_names import problem_names

import pomdplite as pl
from pomdplite.mdp.reachable import build
from pomdplite.problems.battleship import bitboards
from pomdplite.testing import problem_conforms


@pytest.mark.parametrize("name", problem_names(slow=frozenset({"battleship-10-5"})))
def test_every_problem_conforms(name):
    problem_conforms(pl.make_model(name))  # raises where it does not


# ---------------------------------------------------------------------- RockSample


@pytest.mark.parametrize("name", ROCKSAMPLE_STATES)
def test_rocksample_has_the_papers_number_of_states(name):
    """Which rocks were sampled follows from φ; all terminal states together count as one more."""
    view = pl.make_model(f"rocksample-{name}").compiled_form.kernel_view()
    assert build(view, view.root()).states == ROCKSAMPLE_STATES[name] + 1


def test_rocksample_rewards_and_rules():
    model = pl.RockSample(3, [(1, 1), (2, 0)], start=(1, 1))
    plain, x = model.compiled_form.interpreted, model.initial_state()
    good, bad = model.hidden.record([1, 1]), model.hidden.record([0, 0])
    sample, east = model.action_index("sample"), model.action_index("east")
    assert (plain.reward(x, good, sample), plain.reward(x, bad, sample)) == (10.0, -10.0)
    after = plain.evolve(x, good, sample)
    assert after.rock.tolist() == [0, 1] and plain.reward(x, after, sample) == -10.0
    z = plain.observation(x, good, model.action_index("check-1"))
    distance = 2**0.5
    assert abs(z[1] - (1 + 2 ** (-distance / 20)) / 2) < 1e-12
    edge = model.state_record((2, 2))
    legal = [model.actions[a] for a in range(len(model.actions)) if plain.legal(edge, a)]
    assert legal == ["south", "east", "west", "check-0", "check-1"]
    ((out, _),) = plain.transition(edge, good, east)
    assert plain.reward(edge, good, east) == 10.0 and plain.terminal(out)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((3, [(3, 0)]), r"rock 0 at \(3, 0\) is outside"),
        ((3, [(0, 0), (0, 0)]), "share a cell"),
        ((3, []), "at least one rock"),
        ((3, [(0, 0)], (5, 5)), "the start at"),
    ],
)
def test_bad_maps_are_refused(arguments, message):
    with pytest.raises(pl.UsageError, match=message):
        pl.RockSample(*arguments)


# ---------------------------------------------------------------------- Battleship


class Masks:
    """The masks that bitboard functions read from a model's parameters."""

    def __init__(self, size):
        cells = np.arange(64 * -(-size * size // 64))
        self.size = size
        self.not_first = bitboards.bitboard((cells < size * size) & (cells % size != 0))
        self.not_last = bitboards.bitboard((cells < size * size) & (cells % size != size - 1))
        self.inside = bitboards.bitboard(cells < size * size)


@given(st.sampled_from([3, 8, 10, 15]), st.data())
def test_neighbours_on_a_bitboard_are_those_on_the_grid(size, data):
    taken = data.draw(st.sets(st.integers(0, size * size - 1), max_size=12))
    masks = Masks(size)
    words = len(masks.inside)
    board = bitboards.bitboard(np.isin(np.arange(64 * words), list(taken)))
    for function, steps in (
        (bitboards.sides, [(0, 1), (0, -1), (1, 0), (-1, 0)]),
        (bitboards.corners, [(1, 1), (1, -1), (-1, 1), (-1, -1)]),
    ):
        expected = {
            (cell // size + down) * size + cell % size + across
            for cell in taken
            for down, across in steps
            if 0 <= cell // size + down < size and 0 <= cell % size + across < size
        }
        found = [function(masks, board, word) & masks.inside[word] for word in range(words)]
        assert {cell for cell in range(size * size) if bitboards.contains(found, cell)} == expected


@given(st.integers(1, 2**64 - 1))
def test_bits_are_counted_and_the_lowest_is_found(word):
    with np.errstate(over="ignore"):  # as compiled code does
        assert bitboards.count_bits(np.uint64(word)) == word.bit_count()
        assert bitboards.lowest_bit(np.uint64(word)) == (word & -word).bit_length() - 1


# ---------------------------------------------------------------------- Light-Dark


def test_light_dark_in_bins_reads_exactly_at_the_light_and_worse_with_distance():
    model = pl.LightDarkBins()
    plain, right = model.compiled_form.interpreted, model.action_index("right-1")
    for start, shift, within_half in ((0, 10, 1.0), (0, 11, math.erf(0.5 / 2**0.5)), (5, -20, math.erf(0.02 / 2**0.5))):
        z = plain.observation(model.state_record((shift, False)), model.hidden.record([start + 30]), right)
        assert abs(z.sum() - 1) < 1e-12
        near = "light" if start + shift == 10 else str(start + shift)
        assert abs(z[model.observation_index(near)] - within_half) < 1e-4  # noise of 0.0001 everywhere


def test_light_dark_in_bins_tells_the_light_from_a_reading_that_only_rounds_to_it():
    model = pl.LightDarkBins()
    plain, right = model.compiled_form.interpreted, model.action_index("right-1")
    z = plain.observation(model.state_record((9, False)), model.hidden.record([30]), right)
    density = math.exp(-0.5) / (2 * math.pi) ** 0.5  # of a reading of 10 at position 9
    assert abs(z[model.observation_index("light")] - 0.002 * density) < 1e-6
    assert z[model.observation_index("10")] > 0.2


def test_light_dark_in_bins_rewards_and_rules():
    model = pl.LightDarkBins()
    plain, stop, right = model.compiled_form.interpreted, *map(model.action_index, ("stop", "right-1"))
    x, there, elsewhere = model.state_record((-7, False)), model.hidden.record([37]), model.hidden.record([36])
    assert [plain.reward(x, theta, a) for theta in (there, elsewhere) for a in (stop, right)] == [100, -1, -100, -1]
    ((over, _),) = plain.transition(x, there, stop)
    assert plain.terminal(over) and model.success(over, there) and not model.success(over, elsewhere)
    assert not model.success(x, there)  # it has not stopped yet
    for shift, legal in (
        (-30, "stop right-1 right-10"),
        (31, "left-10 left-1 stop right-1"),
        (40, "left-10 left-1 stop"),
    ):
        x = model.state_record((shift, False))
        assert [name for a, name in enumerate(model.actions) if plain.legal(x, a)] == legal.split()


def test_light_dark_in_bins_is_drawn_with_the_belief_over_positions():
    model = pl.LightDarkBins()
    belief = np.zeros(61)
    belief[22 + 30] = 1.0
    for shift, mark in ((-22, "G"), (-12, "L")):
        drawn = model.draw(model.state_record((shift, False)), [belief]).splitlines()
        bar = [row.index("█") for row in drawn if "█" in row]
        assert len(bar) > 1 and set(bar) == {drawn[len(bar)].index(mark)}
    assert drawn[-1].endswith("likeliest position 10 (100 %)")


def test_light_dark_in_bins_with_a_known_start_is_worth_the_shortest_walk():
    """QMDP's value of a first move is the mean over all starts of what the shortest walk to 0 earns."""
    model = pl.LightDarkBins()
    planner = pl.Qmdp(model)
    planner.reset()
    decision = planner.decide()

    def worth(position, spent):
        moves = min(abs(position - 10 * tens) + abs(tens) for tens in range(-8, 9)) + spent
        return 100 * 0.95**moves - (1 - 0.95**moves) / 0.05

    for row in decision.table():
        if row.name != "stop":
            move = int(row.name.split("-")[1]) * (1 if row.name.startswith("right") else -1)
            expected = np.mean([worth(start + move, spent=1) for start in range(-30, 31)])
            assert abs(row.q - expected) < 1e-6, row.name


def test_light_dark_is_the_published_model():
    """Sunberg and Kochenderfer 2018: start uniform on −30 … 30, walls at ±60, Normal(s, |s − 10| + 0.0001)."""
    model = pl.LightDark()
    plain, x = model.compiled_form.interpreted, model.initial_state()
    prior = dict(zip(range(-60, 61), model.hidden.components[0].prior, strict=True))
    assert all(abs(p - (1 / 61 if abs(position) <= 30 else 0.0)) < 1e-12 for position, p in prior.items())

    def at(position):
        return model.hidden.record([position + 60])

    moved = {
        (start, name): plain.evolve(x, at(start), model.action_index(name)).position
        for start in (-55, 0, 58)
        for name in model.actions
    }
    assert [moved[0, name] for name in model.actions] == [-10, -1, 0, 1, 10]
    assert moved[-55, "left-10"] == -60 and moved[58, "right-10"] == 60 and moved[58, "right-1"] == 59
    stop, right = map(model.action_index, ("stop", "right-1"))
    assert [plain.reward(x, at(p), a) for p in (0, 1) for a in (stop, right)] == [100, -1, -100, -1]
    ((over, _),) = plain.transition(x, at(0), stop)
    assert plain.terminal(over) and model.success(over, at(0)) and not model.success(over, at(1))
    world, readings = pl.ModelWorld(model), []
    for episode in range(400):
        world.reset(1, episode)
        o = world.step(right).o
        readings.append((float(o["position"]) - world.theta.position) / (abs(world.theta.position - 10) + 0.0001))
    assert abs(np.mean(readings)) < 4 / 20 and abs(np.std(readings) - 1) < 4 / math.sqrt(800)


def test_light_dark_is_drawn_with_the_belief_over_present_positions():
    model = pl.LightDark()
    belief = pl.CategoricalBelief(model)
    x = model.initial_state()
    belief.update(x, "right-10", x, {"position": 10.00005})  # only the light reads like this
    drawn = model.draw(x, belief.marginals()).splitlines()
    bar = [row.index("█") for row in drawn if "█" in row]
    assert len(bar) > 1 and set(bar) == {drawn[len(bar)].index("L")}
    assert "likeliest position 10 (" in drawn[-1]


# ---------------------------------------------------------------------- names and files


def test_generated_names_set_the_size():
    board = pl.make_model("battleship-6-3")
    assert (board.size, board.ships) == (6, 3)
    with pytest.raises(pl.UsageError, match="no problem 'rocksample-9-9'; choose from tiger"):
        pl.make_model("rocksample-9-9")  # a random map needs a seed


def test_unknown_names_are_refused_with_the_known_ones():
    with pytest.raises(pl.UsageError, match="no problem 'tigger'; choose from tiger"):
        pl.make_model("tigger")
    with pytest.raises(pl.UsageError, match=r"no file .*nowhere.py"):
        pl.make_model("nowhere.py:Robot")


ROBOT = "import pomdplite as pl\nclass Robot(pl.Tiger): pass\n"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (ROBOT + "x = = 1\n", ":Robot", r"robot.py, line 3: SyntaxError"),
        (ROBOT + "1 / 0\n", ":Robot", r"robot.py, line 3: ZeroDivisionError"),
        (ROBOT + "bot = Robot(0.7)\n", ":Rover", "no model 'Rover'; it has Robot, bot"),
        (ROBOT, "", r"which model in .*robot.py\? Choose from .*robot.py:Robot"),
        ("import pomdplite as pl\n", ":Robot", r"robot.py defines no model"),
        (
            ROBOT + "Robot.__init__ = lambda self, n: None\n",
            ":Robot",
            r"Robot\(\) in .* raised TypeError.*robot = Robot",
        ),
    ],
)
def test_mistakes_in_a_users_file_are_explained(tmp_path, text, name, message):
    (tmp_path / "robot.py").write_text(text)
    with pytest.raises(pl.UsageError, match=message):
        pl.make_model(f"{tmp_path}/robot.py{name}")


def test_a_model_object_in_a_users_file_is_used_as_it_is(tmp_path):
    (tmp_path / "robot.py").write_text(ROBOT + "bot = Robot(0.7)\n")
    assert pl.make_model(f"{tmp_path}/robot.py:bot").accuracy == 0.7
