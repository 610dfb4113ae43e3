"""The grasping task as a planning model."""

import grasp_by_sets
import numpy as np
import pytest
from known_values import GRASP_BAYES_OPTIMAL, GRASP_CUP_KNOWN

import pomdplite as pl
from pomdplite.experiments import run_episode
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import momdp_form
from pomdplite.model.records import to_words
from pomdplite.problems.grasp.geometry import Geometry, tables
from pomdplite.problems.grasp.rules import FORWARD, LEFT, RIGHT


class AtCup(pl.ModelWorld):
    """Episode i has the cup at place i."""

    def reset(self, seed, episode=0):
        super().reset(seed, episode)
        self._theta = to_words(self.model.hidden.dtype, self.model.hidden.record([episode])).reshape(1, -1)


def play(model, cup, actions):
    """Observations and the last state of a course of actions, the cup at this place."""
    world = AtCup(model)
    at = int(np.argmin(np.abs(model.cups - np.array(cup)).sum(axis=1)))
    world.reset(0, at)
    results = [world.step(model.action_index(a)) for a in actions]
    return [model.observation_name(o.o) for o in results], [o.reward for o in results], world.x


def test_the_task_is_the_papers():
    model = pl.make_model("grasp")
    assert (len(model.actions), len(model.observations), len(model.cups)) == (7, 6, 42)
    assert len(model.sides) * len(model.depths) == 15 * 22


def test_straight_to_a_cup_ahead():
    observed, rewards, x = play(pl.Grasp(), (0.0, 0.16), ["+y"] * 13 + ["close", "pick"])
    assert observed == ["none"] * 12 + ["both", "both", "picked"]
    # ahead of the opening down to dy = 0.08, then between the fingers
    assert rewards == [-2.0] * 8 + [-1.0] * 5 + [-10.0, 100.0]
    assert x.depth == 0.12 and x.hand == 2


def test_a_sideways_stop_is_felt_on_the_finger_that_meets_the_cup():
    model = pl.Grasp()
    for move, finger in (("+x", "left"), ("-x", "right")):
        observed, _, x = play(model, (0.0, 0.16), ["+y"] * 10 + [move] * 3)
        assert observed[-1] == finger and abs(x.side) == 0.02 and x.stopped > 0


def test_a_fingertip_stop_is_not_felt_but_seen():
    observed, rewards, x = play(pl.Grasp(), (0.03, 0.16), ["+y"] * 6)
    assert observed == ["none"] * 6 and x.depth < 0.06 and x.stopped == 1 + FORWARD
    assert set(rewards) == {-5.0}


def test_a_pick_without_the_cup_fails():
    for actions in (["pick"], ["close", "pick"]):
        observed, rewards, _ = play(pl.Grasp(), (0.0, 0.16), actions)
        assert observed[-1] == "missed" and rewards[-1] == -100.0


def test_noise_flips_each_finger():
    model = pl.Grasp(noise=0.1)
    world = AtCup(model)
    world.reset(0, 0)
    z = model.compiled_form.interpreted.observation(model.initial_state(), world.theta, RIGHT)
    np.testing.assert_allclose(z[:4], [0.81, 0.09, 0.09, 0.01])


def test_mismatch_and_spread_leave_a_chance_to_every_ending_of_a_move():
    model = pl.Grasp(Geometry(spread=0.005), noise=0.01, mismatch=0.01)
    belief = pl.initial_belief(model)
    x = model.initial_state()
    for a in (RIGHT, LEFT, FORWARD):
        stopped = model.state_record({"side": 0.0, "depth": 0.0, "hand": "open", "stopped": 1 + a})
        belief.update(x, a, stopped, "both")  # as wrong as can be
        x = stopped
    assert np.isfinite(belief.vector).all() and belief.vector.min() > 0


def test_cups_anywhere_in_their_cell_make_stops_a_matter_of_chance():
    sure, spread = (pl.Grasp(Geometry(spread=s)) for s in (0.0, 0.005))
    assert set(np.unique(sure.blocked)) == {0.0, 1.0}
    assert ((spread.blocked > 0) & (spread.blocked < 1)).any()
    np.testing.assert_allclose(spread.sensed.sum(axis=-1), 1.0)


def test_flared_fingers_are_felt_when_pushed_onto_the_cup():
    g = Geometry(opening=0.08, flare=0.04, finger_length=0.06, cup_radius=0.035, inward=0.5, held_side=0.03)
    cups, lattice = np.array([[0.03, 0.10]]), (np.round(np.arange(-2, 3) * 0.01, 9), np.round(np.arange(8) * 0.01, 9))
    t = tables(g, cups, *lattice, (-1.0, -2.0, -5.0))
    stops = np.flatnonzero(t.blocked[0, 2, :, FORWARD])
    assert len(stops) and t.sensed[0, 2, stops[0], FORWARD].argmax() == 2  # the right finger


def test_the_full_information_value_is_that_of_the_independent_program():
    model = pl.Grasp()
    momdp = momdp_form(model)
    values = full_information_values(momdp, model.discount)
    assert abs(values[momdp.reachable.find(momdp.view.root())].mean() - GRASP_CUP_KNOWN) < 1e-5


def test_pomdp_lite_has_the_bayes_optimal_value_and_never_fails():
    """Without noise an episode depends on the cup alone, so all 42 cups give the exact value."""
    model = pl.Grasp()
    planner, world = pl.PomdpLite(model), AtCup(model)
    played = [run_episode(planner, world, 0, i) for i in range(len(model.cups))]
    assert all(e.success for e in played)
    value = np.mean([e.discounted for e in played])
    assert value == pytest.approx(GRASP_BAYES_OPTIMAL, abs=1e-5)


@pytest.mark.slow
def test_the_known_values_are_those_of_the_independent_program():
    best, cup_known = grasp_by_sets.solve(pl.Grasp())
    assert best == pytest.approx(GRASP_BAYES_OPTIMAL, abs=1e-6)
    assert cup_known == pytest.approx(GRASP_CUP_KNOWN, abs=1e-6)


@pytest.mark.slow
def test_the_bayes_optimal_value():
    planner = pl.BayesOptimal(pl.Grasp())
    planner.reset()
    low, high = planner.decide().bounds
    assert high - low < 1e-6 and abs(low - GRASP_BAYES_OPTIMAL) < 1e-5


@pytest.mark.parametrize("planner", ["pomdp-lite", "mean-mdp", "qmdp", "pomcp", "pomcp-exact", "despot"])
def test_every_planner_plays_it(planner):
    parameters = {"sims": 20} if planner in ("pomcp", "pomcp-exact", "despot") else {}
    assert len(pl.evaluate("grasp", planner, 1, **parameters).episodes) == 1


def test_uct_plays_it():
    played = pl.evaluate("grasp", "pomdp-lite", 3, solver="uct", sims=2000)
    assert np.isfinite(played.mean)


def test_sarsop_bounds_hold_the_bayes_optimal_value():
    planner = pl.Sarsop(pl.Grasp(), solve_trials=4)
    planner.prepare()
    low, high = planner.bounds
    assert low <= GRASP_BAYES_OPTIMAL + 1e-4 and high >= GRASP_BAYES_OPTIMAL - 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": 0.5}, "noise must be a probability below a half"),
        ({"step": 0.0}, "step must be a positive length"),
        ({"start": (0.5, 0.0)}, "start 0.5 is outside"),
        ({"cup_x": ()}, "at least one cup_x"),
    ],
)
def test_bad_tasks_are_refused(arguments, message):
    with pytest.raises(pl.UsageError, match=message):
        pl.Grasp(**arguments)


def test_bad_geometry_is_refused():
    with pytest.raises(pl.UsageError, match="does not fit between"):
        Geometry(opening=0.05)
    with pytest.raises(pl.UsageError, match="finger_length must be"):
        Geometry(finger_length=float("nan"))


def test_the_drawing_marks_the_finger_that_feels_the_cup():
    model = pl.Grasp()
    x = model.state_record({"side": 0.02, "depth": 0.1, "hand": "open", "stopped": "+x"})
    known = [np.eye(len(model.cups))[int(np.argmin(np.abs(model.cups - [0.0, 0.16]).sum(axis=1)))]]
    assert model.touched(x, known) == (True, False)
    drawn = model.draw(x, known)
    assert "▓" in drawn and "│" in drawn and "100" in drawn and "+x was stopped" in drawn


def test_the_picture_shows_belief_and_gripper():
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    model = pl.Grasp()
    axes = Figure().subplots()
    x = model.state_record({"side": 0.0, "depth": 0.12, "hand": "closed", "stopped": "no"})
    model.paint(axes, x, pl.initial_belief(model).marginals())
    assert len(axes.patches) == 4 and len(axes.texts) == len(model.cups)
