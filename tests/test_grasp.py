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
from pomdplite.problems.grasp.drawing import fingers_touching
from pomdplite.problems.grasp.geometry import Geometry, tables
from pomdplite.problems.grasp.symbols import FORWARD, LEFT, RIGHT, TOUCH_RIGHT


class AtCup(pl.ModelWorld):
    """In episode i, the cup stands at position i."""

    def reset(self, seed, episode=0):
        super().reset(seed, episode)
        self._theta = to_words(self.model.hidden.dtype, self.model.hidden.record([episode])).reshape(1, -1)


def play(model, cup, actions):
    """Play actions with the cup at a given position. Return the observations, the rewards and the last state."""
    world = AtCup(model)
    at = int(np.argmin(np.abs(model.cups - np.array(cup)).sum(axis=1)))
    world.reset(0, at)
    results = [world.step(model.action_index(a)) for a in actions]
    return [model.observation_name(o.o) for o in results], [o.reward for o in results], world.x


def test_the_paper_gives_actions_observations_and_rewards():
    """Section VI: seven actions, six observations, moves for 1, 2 or 5, a grip for 10, a pick for ±100."""
    model = pl.make_model("grasp")
    assert (len(model.actions), len(model.observations)) == (7, 6)
    assert (model.move_costs, model.grip_cost, model.prize) == ((-1.0, -2.0, -5.0), -10.0, 100.0)


def test_the_lattice_covers_the_reach():
    model = pl.make_model("grasp")
    assert (len(model.cups), len(model.sides), len(model.depths)) == (42, 15, 22)
    assert (model.sides[0], model.sides[-1], model.depths[0], model.depths[-1]) == (-0.07, 0.07, 0.0, 0.21)


def test_a_cup_straight_ahead_is_reached_and_picked():
    observed, rewards, x = play(pl.Grasp(), (0.0, 0.16), ["+y"] * 13 + ["close", "pick"])
    assert observed == ["none"] * 12 + ["both", "both", "picked"]
    # the cup is ahead of the opening until dy = 0.08, then between the fingers
    assert rewards == [-2.0] * 8 + [-1.0] * 5 + [-10.0, 100.0]
    assert x.depth == 0.12 and x.hand == 2


def test_a_sideways_stop_is_felt_on_the_finger_that_meets_the_cup():
    model = pl.Grasp()
    for move, finger in (("+x", "left"), ("-x", "right")):
        observed, _, x = play(model, (0.0, 0.16), ["+y"] * 10 + [move] * 3)
        assert observed[-1] == finger and abs(x.side) == 0.02 and x.stopped > 0


def test_a_fingertip_stop_is_not_felt_but_shows_in_the_state():
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


def test_mismatch_and_spread_keep_every_position_possible():
    model = pl.Grasp(Geometry(spread=0.005), noise=0.01, mismatch=0.01)
    belief = pl.initial_belief(model)
    x = model.initial_state()
    for a in (RIGHT, LEFT, FORWARD):
        stopped = model.state_record({"side": 0.0, "depth": 0.0, "hand": "open", "stopped": 1 + a})
        belief.update(x, a, stopped, "both")  # contradicts the geometry of every cup
        x = stopped
    assert np.isfinite(belief.vector).all() and belief.vector.min() > 0


def test_cups_anywhere_in_their_cell_make_stops_random():
    exact, spread = (pl.Grasp(Geometry(spread=s)) for s in (0.0, 0.005))
    assert set(np.unique(exact.blocked)) == {0.0, 1.0}
    assert ((spread.blocked > 0) & (spread.blocked < 1)).any()
    np.testing.assert_allclose(spread.sensed.sum(axis=-1), 1.0)


def test_flared_fingers_are_felt_when_pushed_onto_the_cup():
    geometry = Geometry(opening=0.08, flare=0.04, finger_length=0.06, cup_radius=0.035, inward=0.5, held_side=0.03)
    cups, lattice = np.array([[0.03, 0.10]]), (np.round(np.arange(-2, 3) * 0.01, 9), np.round(np.arange(8) * 0.01, 9))
    known = tables(geometry, cups, *lattice, (-1.0, -2.0, -5.0))
    stops = np.flatnonzero(known.blocked[0, 2, :, FORWARD])
    assert len(stops) and known.sensed[0, 2, stops[0], FORWARD].argmax() == TOUCH_RIGHT


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
def test_every_planner_picks_the_cup_or_runs_out_of_steps(planner):
    """No planner risks a pick that fails: the model has no noise, so closing shows whether the hand holds the cup."""
    parameters = {"sims": 20} if planner in ("pomcp", "pomcp-exact", "despot") else {}
    (episode,) = pl.evaluate("grasp", planner, 1, **parameters).episodes
    assert episode.success != episode.cut and episode.steps > 10
    assert episode.success or parameters  # 20 simulations may be too few


def test_uct_picks_the_cup():
    assert pl.evaluate("grasp", "pomdp-lite", 3, solver="uct", sims=2000).success_rate == 1.0


def test_sarsop_bounds_hold_the_bayes_optimal_value():
    planner = pl.Sarsop(pl.Grasp(), solve_trials=4)
    planner.prepare()
    low, high = planner.bounds
    assert low <= GRASP_BAYES_OPTIMAL + 1e-4 and high >= GRASP_BAYES_OPTIMAL - 1e-4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": 0.5}, "noise must be a probability below 0.5"),
        ({"step": 0.0}, "step must be a positive length"),
        ({"start": (0.5, 0.0)}, "start 0.5 is outside"),
        ({"cup_x": ()}, "at least one cup_x"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
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
    assert fingers_touching(model, x, known) == (True, False)
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
