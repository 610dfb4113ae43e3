import pytest
from known_values import ROCKSAMPLE_STATES

import pomdplite as pl
from pomdplite.mdp.reachable import build
from pomdplite.problems import PROBLEMS
from pomdplite.testing import problem_conforms


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_conforms(name):
    problem_conforms(pl.make_model(name))


@pytest.mark.parametrize("name", ROCKSAMPLE_STATES)
def test_rocksample_has_the_papers_number_of_states(name):
    """The mask of sampled rocks comes from φ by itself; all terminal states are one more."""
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


def test_unknown_names_are_told(tmp_path):
    with pytest.raises(pl.UsageError, match="no problem 'tigger'; choose from tiger"):
        pl.make_model("tigger")
    with pytest.raises(pl.UsageError, match=r"no file .*nowhere.py"):
        pl.make_model("nowhere.py:Robot")
    (tmp_path / "robot.py").write_text("import pomdplite as pl\nclass Robot(pl.Tiger): pass\nx = = 1\n")
    with pytest.raises(pl.UsageError, match=r"robot.py, line 3: SyntaxError"):
        pl.make_model(f"{tmp_path}/robot.py:Robot")
    (tmp_path / "robot.py").write_text("import pomdplite as pl\nclass Robot(pl.Tiger): pass\n1 / 0\n")
    with pytest.raises(pl.UsageError, match=r"robot.py, line 3: ZeroDivisionError"):
        pl.make_model(f"{tmp_path}/robot.py:Robot")
    (tmp_path / "robot.py").write_text("import pomdplite as pl\nclass Robot(pl.Tiger): pass\nbot = Robot(0.7)\n")
    with pytest.raises(pl.UsageError, match="no model 'Rover'; it has Robot, bot"):
        pl.make_model(f"{tmp_path}/robot.py:Rover")
    assert pl.make_model(f"{tmp_path}/robot.py:bot").accuracy == 0.7
