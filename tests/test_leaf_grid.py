"""Searches of models that declare a grid: new leaves are valued on a coarse version of it."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.mdp.budget import NO_DEADLINE, Budget
from pomdplite.mdp.grid.points import interpolated
from pomdplite.mdp.grid.solver import GridSolver
from pomdplite.mdp.search.nodes import END, NODES, NOT_EXPANDED

GAMMA = 0.9


class Fading(pl.Model):
    """A number that halves at every step, with noise and a hidden drift, is earned; paying is of no use.

    The drift is 0 on average, so under the prior V(x) = x + γ V(x / 2) = x / (1 − γ / 2): between points it is linear.
    """

    state = pl.State(at=float)
    hidden = pl.Hidden(drift=(-0.5, 0.5))
    actions = ("wait", "pay")
    noise = pl.Gaussian(at=0.1)
    grid = pl.Grid(at=(-20.0, 20.0, 201))
    discount = GAMMA
    horizon = 50
    beta = 0.0

    def start(self, x):
        x.at = 3.3

    def transition(m, x, theta, a, y):
        y.at = 0.5 * x.at + theta.drift

    def reward(m, x, theta, a):
        return x.at - a


class Guided(Fading):
    """The same with a heuristic of its own."""

    def heuristic(m, x):
        return 7.0


class Rambling(Fading):
    """The same with a counter: too many discrete states for a grid."""

    state = pl.State(at=float, steps=int)

    def transition(m, x, theta, a, y):
        y.at = 0.5 * x.at + theta.drift
        y.steps = x.steps + 1


def exact(at):
    return at / (1.0 - GAMMA / 2.0)


def searched(model, sims=40):
    planner = pl.PomdpLite(model, solver="uct", sims=sims)
    planner.reset(1000)
    return planner, planner.decide()


def new_leaves(planner):
    """The states and values of the nodes that the search has not expanded."""
    nodes = planner.solver._graph.nodes
    found = np.arange(END + 1, int(nodes.counts[NODES]))
    found = found[nodes.first[found] == NOT_EXPANDED]
    return nodes.states[found].view(np.float64)[:, 0], nodes.value[found]


@pytest.fixture(scope="module")
def fading():
    return searched(Fading())


@pytest.mark.slow
def test_a_coarse_grid_interpolates_the_known_values(fading):
    known = fading[0].solver._work.leaves
    for at in (-7.77, 0.0, 0.123, 5.0, 9.99):
        assert interpolated(known, np.array([[at]]).view(np.uint64), 0) == pytest.approx(exact(at), abs=1e-5)


@pytest.mark.slow
def test_new_leaves_have_the_values_of_the_grid(fading):
    at, value = new_leaves(fading[0])
    assert len(at) > 10 and value == pytest.approx(exact(at), abs=1e-5)


@pytest.mark.slow
def test_the_search_finds_the_value_and_the_planner_says_how(fading):
    planner, decision = fading
    assert decision.name == "wait"
    assert dict(zip(("wait", "pay"), decision.solution.q, strict=True))["wait"] == pytest.approx(exact(3.3), abs=0.3)
    assert "leaves valued on a grid of 21 points" in planner.choices


@pytest.mark.slow
def test_the_same_seed_gives_the_same_decision(fading):
    again = searched(Fading())[1]
    assert again.solution.q.tolist() == fading[1].solution.q.tolist()
    assert again.solution.visits.tolist() == fading[1].solution.visits.tolist()


def test_a_heuristic_of_the_model_comes_first():
    planner = searched(Guided())[0]
    assert set(new_leaves(planner)[1]) == {7.0} and not any("leaves" in said for said in planner.choices)


def test_too_many_discrete_states_leave_rollouts():
    planner, decision = searched(Rambling())
    assert not any("leaves" in said for said in planner.choices) and decision.name in ("wait", "pay")


def test_room_grows_in_proportion_to_the_discrete_states_that_are_found():
    """They are found one by one; room that doubled for each of them would soon be all of the memory."""
    model, points = Rambling(), 21
    belief = pl.initial_belief(model)
    solver = GridSolver(
        belief.view, GAMMA, 0.0, budget=Budget(None), limit=24 * points, grid=Rambling.grid.coarser(points)
    )
    with pytest.raises(pl.TooLargeError, match="21 points for each of 25 or more discrete states"):
        solver.prepare(belief.kernel_model, belief.view.root(), belief.probabilities, NO_DEADLINE)
    assert len(solver._graph.next) < 100 * len(solver._graph.value)
