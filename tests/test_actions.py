"""Actions with fields: the values that are listed, how a model's functions and users see them, and mistakes."""

import math
import pickle

import numpy as np
import pytest

import pomdplite as pl


class Throw(pl.Model):
    """Throw at a target at one of three distances; a throw that is too long sounds different from one too short."""

    state = pl.State(throws=int)
    hidden = pl.Hidden(target={-0.5: 0.25, 0.0: 0.25, 0.4: 0.5})
    actions = pl.Action(force=(-1.0, 1.0))
    observations = ("short", "long")
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.throws = x.throws + 1

    def observation(m, y, theta, a, z):
        z[0] = 0.8 if a.force < theta.target else 0.3
        z[1] = 1.0 - z[0]

    def reward(m, x, theta, a):
        return -((a.force - theta.target) ** 2)

    def terminal(m, x):
        return x.throws == 3

    def policy(m, x, u):
        return 2.0 * u - 1.0


class Grip(Throw):
    """The same with a second number and a choice of hands, and a reward that depends on the next state."""

    actions = pl.Action(force=(-1.0, 1.0, 21), turn=(-0.5, 0.5, 5), hand=("left", "right"))

    def reward(m, x, theta, a, y):
        return -((a.force - theta.target) ** 2) - a.turn**2 - 0.1 * a.hand * y.throws

    def legal(m, x, a):
        return a.hand == 0 or a.turn == 0.0

    def policy(m, x, u):
        return 2.0 * u - 1.0, 0.04, 1


def interpreted(kind):
    return type(kind.__name__, (kind,), {"compiled": False})()


# ---------------------------------------------------------------------- the list


def test_a_range_is_listed_evenly_and_from_coarse_to_fine():
    listed = pl.Action(force=(-1.0, 1.0, 9))
    assert listed.records["force"].tolist() == [0, -1, 1, -0.5, 0.5, -0.75, 0.25, -0.25, 0.75]
    assert listed[6] == "force=0.25" and len(listed) == 9


@pytest.mark.parametrize("count", (2, 3, 6, 17, 64, 100))
def test_every_value_of_a_range_is_listed_once(count):
    found = np.sort(pl.Action(v=(2.0, 5.0, count)).records["v"])
    assert np.allclose(found, np.linspace(2.0, 5.0, count), rtol=0, atol=1e-9)


def test_the_first_actions_of_several_ranges_cover_all_of_them():
    listed = pl.Action(a=(0.0, 1.0, 17), b=(0.0, 1.0, 17))
    points = np.stack([listed.records["a"], listed.records["b"]], axis=1)
    assert len(listed) == 17**2 == len({tuple(p) for p in points})
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 33), np.linspace(0, 1, 33)), axis=-1).reshape(-1, 2)
    for first, gap in ((9, 0.25), (25, 0.125), (81, 0.0625)):  # 3², 5² and 9² points: half the distance of a grid
        farthest = np.abs(grid[:, None] - points[None, :first]).max(axis=2).min(axis=1).max()
        assert farthest <= gap + 1e-12


def test_decimal_steps_are_decimal_numbers():
    assert {0.1, 0.3, -0.7} <= set(pl.Action(force=(-1.0, 1.0, 21)).records["force"].tolist())


@pytest.mark.parametrize(("ranges", "actions"), ((1, 65), (2, 289), (3, 343), (4, 625), (5, 243)))
def test_there_are_a_few_hundred_actions_by_default(ranges, actions):
    assert len(pl.Action(**{f"f{i}": (0.0, 1.0) for i in range(ranges)})) == actions


def test_names_stay_distinct_in_a_narrow_range():
    assert len(set(pl.Action(v=(1.0, 1.0 + 1e-6)))) == 65


@pytest.mark.parametrize(
    ("fields", "message"),
    (
        ({}, "Action needs at least one field"),
        ({"f": 1.0}, r"f must be \(low, high\), \(low, high, count\) or names, not 1.0"),
        ({"f": (1.0, -1.0)}, "f goes from 1 to -1; the first must be below the second"),
        ({"f": (1.0, 1.0)}, "f goes from 1 to 1; the first must be below the second"),
        ({"f": (0.0, math.inf)}, "f must go from one finite number to another"),
        ({"f": (math.nan, 1.0)}, "f must go from one finite number to another"),
        ({"f": (-1e308, 1e308)}, "the range of f is too large"),
        ({"f": (0.0, 1.0, 1)}, "the number of values of f must be an integer of at least 2, not 1"),
        ({"f": (0.0, 1.0, 10**9)}, "f has 1,000,000,000 values, and the limit is 100,000 actions"),
        ({"f": (0.0, 1.0, 1000), "g": (0.0, 1.0, 1000)}, "Action lists 1,000,000 combinations of its fields"),
        ({"f": (1.0, 1.0 + 1e-15)}, "there are no 65 different numbers between"),
        ({"f": ("a", "a")}, "the names of f must be distinct"),
        ({"shape": (0.0, 1.0)}, "a field cannot be called 'shape'"),
    ),
)
def test_ranges_that_make_no_sense_are_refused(fields, message):
    with pytest.raises(pl.ModelError, match=message):
        pl.Action(**fields)


# ---------------------------------------------------------------------- in a model


@pytest.mark.parametrize("kind", (Throw, Grip))
def test_compiled_and_interpreted_functions_read_the_same_fields(kind):
    assert pl.check_model(kind()).ok and pl.check_model(interpreted(kind)).ok


def test_functions_see_the_values_of_the_action():
    model = Grip()
    a = model.action_index({"force": 0.3, "turn": 0.25, "hand": "right"})
    run, theta = model.compiled_form.interpreted, model.hidden.record([2])
    assert run.reward(model.initial_state(), theta, a) == pytest.approx(-(0.1**2) - 0.25**2 - 0.1, abs=1e-12)
    assert not run.legal(model.initial_state(), a)
    assert model.action_values(run.policy(model.initial_state(), 0.66)) == {"force": 0.3, "turn": 0.0, "hand": "right"}


def test_the_best_force_is_the_mean_of_the_target_among_the_listed_ones():
    """E(f − t)² is least at the mean, here 0.25·(−0.5) + 0.5·0.4 = 0.075; the nearest of 65 values is 0.0625."""
    for model in (Throw(), interpreted(Throw)):
        planner = pl.MeanMdp(model)
        planner.reset()
        decision = planner.decide()
        assert decision.name == "force=0.0625" and model.action_values(decision.action) == {"force": 0.0625}
        variance = 0.25 * 0.575**2 + 0.25 * 0.075**2 + 0.5 * 0.325**2
        expected = -(variance + 0.0125**2) * (1 + 0.9 + 0.81)
        assert decision.value == pytest.approx(expected, abs=1e-9)


def test_an_action_is_given_by_number_name_or_values():
    model = Grip()
    a = model.action_index("force=0.3 turn=0 hand=right")
    assert model.action_index(a) == a
    assert model.action_index((0.3, 0.0, "right")) == model.action_index({"hand": 1, "turn": 0.1, "force": 0.34}) == a
    planner = pl.PomdpLite(Throw(), beta=0.0)
    beliefs = []
    for given in ({"force": 0.26}, "force=0.25", (0.25,)):
        planner.reset()
        planner.update(given, {"throws": 1}, "long")
        beliefs.append(planner.belief.probabilities)
    posterior = np.array([0.25 * 0.7, 0.25 * 0.7, 0.5 * 0.2])  # 0.25 is beyond the first two targets
    for b in beliefs:
        assert np.allclose(b[:3], posterior / posterior.sum(), atol=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    (
        ({"force": 3.0}, "the action's field force goes from -1 to 1; got 3.0"),
        ({"push": 0.1}, "an action has the fields force; got {'push': 0.1}"),
        (0.5, "an action has the fields force; got 0.5"),
        (65, r"unknown action 65; the model has force=0, force=-1, .* \(65 in all\)"),
        ("force=2", "unknown action 'force=2'"),
    ),
)
def test_values_that_are_no_action_are_refused(given, message):
    with pytest.raises(pl.UsageError, match=message):
        Throw().action_index(given)


def test_named_actions_have_no_values():
    with pytest.raises(pl.UsageError, match="Tiger lists its actions by name"):
        pl.Tiger().action_values("listen")


def wrong_number(m, x, theta, a):
    return 1.0 if a == 0 else 0.0


def wrong_field(m, x, theta, a):
    return a.torque


def pair(m, x, u):
    return 0.0, 1.0


def not_a_number(m, x, u):
    return math.nan


@pytest.mark.parametrize(
    ("name", "function", "message"),
    (
        ("reward", wrong_number, "an action has fields, which are read as a.force; a itself is not a number"),
        ("reward", wrong_field, "the record has no field 'torque'"),
        ("policy", pair, "it must return a number"),
        ("policy", not_a_number, "policy is nan at x"),
    ),
)
def test_mistakes_in_functions_are_named(name, function, message):
    report = pl.check_model(type("Wrong", (Throw,), {name: function})())
    assert any(message in finding.message for finding in report.findings)


def test_the_range_is_part_of_a_models_digest():
    from pomdplite.checking.remembered import model_digest

    one, other = (type("Throw", (Throw,), {"actions": pl.Action(force=(1.0, 2.0 + end, 11))}) for end in (0.0, 1e-9))
    assert list(one.actions) == list(other.actions)  # the names show six digits
    assert len({model_digest(kind()) for kind in (one, one, other)}) == 2


def test_a_model_with_ranges_can_be_sent_to_another_process():
    model = pickle.loads(pickle.dumps(Grip()))
    assert model.action_values(7) == Grip().action_values(7)


def test_episodes_are_the_same_compiled_and_interpreted():
    found = [pl.evaluate(model, episodes=5, seed=15, beta=0.5) for model in (Throw(), interpreted(Throw))]
    assert np.array_equal(found[0].returns, found[1].returns) and len(set(found[0].returns)) > 1
