"""A θ that cannot be listed, planned for exactly where the particles reach few states."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite import rng


class Slope(pl.Model):
    """A walk on a few cells whose slips depend on a hidden friction that cannot be listed."""

    state = pl.State(cell=int)
    actions = ("left", "right", "stop")
    observations = ("smooth", "rough")
    discount = 0.9
    next_states = 2
    cells = 6
    hidden = pl.Population(friction=float)

    def start(self, x):
        x.cell = 2

    def prior(m, theta, random):
        theta.friction = 0.5 * int(rng.uniform(random) * 3)  # 0, 0.5 or 1

    def move(m, x, theta, random):
        return False

    def transition(m, x, theta, a, y, p):
        step = -1 if a == 0 else 1 if a == 1 else 0
        y[0].cell = min(max(x.cell + step, 0), m.cells - 1)
        p[0] = 1.0 - 0.4 * theta.friction
        p[1] = 0.4 * theta.friction

    def observation(m, y, theta, a, z):
        if a != 2:
            z[1] = 0.1 + 0.8 * theta.friction
            z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        return 3.0 * theta.friction - 1.0 if x.cell == m.cells - 1 else -0.1 * a


class ListedSlope(Slope):
    """The same with the three values of the friction listed."""

    hidden = pl.Hidden(friction=(0.0, 0.5, 1.0))
    prior = None
    move = None


def same_belief(planner, listed):
    """Give the listed planner the probabilities that the particles give to each value."""
    for particle in planner.belief.particles():
        row = [0.0, 0.5, 1.0].index(float(particle.theta.friction))
        listed.belief._probabilities[row] = particle.probability
    assert listed.belief.probabilities[:3].sum() == pytest.approx(1.0)


@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_particles_are_planned_for_as_the_listed_values_that_they_are(solver, beta):
    """Along an episode, Q and its parts equal those of the same belief over listed values."""
    planner, listed = pl.PomdpLite(Slope(), beta, solver=solver), pl.PomdpLite(ListedSlope(), beta, solver="exact")
    planner.reset(1)
    listed.reset()
    for a, y, o in (("right", 3, "rough"), ("right", 3, "rough"), ("left", 2, "smooth"), ("stop", 2, None)):
        same_belief(planner, listed)
        found, expected = planner.decide(), listed._decide()
        assert found.solution.solver == "value iteration" and found.solution.simulations == 0
        for part in ("q", "bonus_part", "mean_reward", "mean_bonus"):
            np.testing.assert_allclose(getattr(found.solution, part), getattr(expected.solution, part), atol=1e-5)
        for one in (planner, listed):
            one.update(a, (y,), o)


def test_an_episode_does_not_depend_on_the_ones_before_it():
    found = [pl.evaluate(Slope(), episodes=3, seed=5).returns.tolist() for _ in range(2)]
    planner = pl.PomdpLite(Slope())
    pl.evaluate(planner.model, planner, episodes=2, seed=9)
    assert found == [pl.evaluate(planner.model, planner, episodes=3, seed=5).returns.tolist()] * 2


class Opening(Slope):
    """Few states until a door is opened, then as many as there are values of θ, which differ once they have moved."""

    observations = ()
    observation = None
    cells = 1_000_000

    def prior(m, theta, random):
        theta.friction = 0.0

    def move(m, x, theta, random):
        theta.friction = rng.uniform(random) if x.cell > 2 else 0.0
        return True

    def transition(m, x, theta, a, y, p):
        p[0] = 1.0
        y[0].cell = 3 if a == 1 else x.cell
        if x.cell > 2:
            y[0].cell = x.cell + int(1e5 * theta.friction)


def test_where_later_particles_reach_too_many_states_the_search_takes_over():
    planner = pl.PomdpLite(Opening(), 0.0, sims=20)
    planner.reset()
    assert planner.decide().solution.solver == "value iteration"
    planner.update("right", (3,), None)
    assert planner.decide().solution.solver == "UCT on a graph"
    strict = pl.PomdpLite(Opening(), 0.0, solver="exact", limit=100)
    strict.reset()
    strict.update("right", (3,), None)
    with pytest.raises(pl.TooLargeError, match="more than 100 reachable states"):
        strict.decide()


def test_a_population_with_many_states_is_searched():
    planner = pl.PomdpLite(pl.Battleship(5, 2), sims=5)
    planner.reset()
    assert planner.decide().solution.solver == "UCT on a graph"
