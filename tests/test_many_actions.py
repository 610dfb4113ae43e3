"""Searches with hundreds of actions: which ones are considered, and what is decided."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.search.action_widening import ALPHA, MANY, K, allocate_widening, set_order
from pomdplite.mdp.search.listed.solver import UctSolver
from pomdplite.testing import planner_conforms


class Vault(pl.Model):
    """Rooms in a row. In each, one lever of `count` opens the next door, but which one depends on a hidden code.

    Ten of the levers tell something about the code; all others do nothing.
    """

    state = pl.State(room=int)
    hidden = pl.Hidden(code=(0, 1, 2, 3))
    observations = ("0", "1", "2", "3")
    discount = 0.95
    horizon = 30
    beta = 2.0

    def __init__(self, count):
        self.actions = tuple(f"lever-{i}" for i in range(count))
        self.count, self.tells = count, count // 10

    def transition(m, x, theta, a, y):
        if a == (x.room * 271 + theta.code * 53 + 17) % m.count:
            y.room = x.room + 1

    def observation(m, y, theta, a, z):
        if a % m.tells == 7:
            for o in range(4):
                z[o] = 0.7 if o == theta.code else 0.1

    def reward(m, x, theta, a):
        opens = a == (x.room * 271 + theta.code * 53 + 17) % m.count
        return (-1.0 if a % m.tells == 7 else -2.0) + (10.0 if opens else 0.0)

    def terminal(m, x):
        return x.room == 3


class Hole(pl.Model):
    """Every action ends the episode with 0, but the last one costs 1 and leads to a reward of 10."""

    state = pl.State(place=("start", "pit", "end"))
    hidden = pl.Hidden(nothing=(0,))
    actions = tuple(map(str, range(200)))
    discount = 1.0
    horizon = 4

    def transition(m, x, theta, a, y):
        y.place = 1 if x.place == 0 and a == 199 else 2

    def reward(m, x, theta, a):
        return 10.0 if x.place == 1 else (-1.0 if a == 199 else 0.0)

    def terminal(m, x):
        return x.place == 2


class Hopeful(pl.Model):
    """Action 0 ends the episode and earns 1. Every other leads to a place of its own, where there is nothing.

    The heuristic promises far too much.
    """

    state = pl.State(place=int)
    hidden = pl.Hidden(nothing=(0,))
    actions = tuple(map(str, range(100)))
    discount = 1.0
    horizon = 4

    def transition(m, x, theta, a, y):
        y.place = a if x.place == 0 and a > 0 else -1

    def reward(m, x, theta, a):
        return 1.0 if x.place == 0 and a == 0 else 0.0

    def terminal(m, x):
        return x.place == -1

    def heuristic(m, x):
        return 50.0


class Glide(pl.Model):
    """Three pushes of a glider with unknown drag to a mark at 0.5: the reward is quadratic in where it comes to rest."""

    state = pl.State(at=float, pushes=int)
    hidden = pl.Hidden(drag={0.0: 0.5, 0.2: 0.3, 0.4: 0.2})
    actions = pl.Action(force=(-1.0, 1.0, 1001))
    discount = 1.0
    beta = 0.0

    def transition(m, x, theta, a, y):
        y.at = x.at + a.force * (1.0 - theta.drag)
        y.pushes = x.pushes + 1

    def reward(m, x, theta, a):
        rest = x.at + a.force * (1.0 - theta.drag) - 0.5
        return -rest * rest

    def terminal(m, x):
        return x.pushes == 3


def decided(model, seed=1000, **settings):
    planner = pl.PomdpLite(model, **settings)
    planner.reset(seed)
    return planner.decide()


@pytest.mark.parametrize("solver", ("uct", pytest.param("uct-tree", marks=pytest.mark.slow)))
def test_a_search_of_1000_actions_decides_as_the_exact_solver_does(solver):
    model = Vault(1000)
    exact, search = pl.PomdpLite(model, solver="exact"), pl.PomdpLite(model, solver=solver, sims=3000)
    exact.reset()
    search.reset(1000)
    for a, y, o in (("lever-7", 0, "2"), ("lever-107", 0, "2"), ("lever-123", 1, None), (None, None, None)):
        best, found = exact.decide(), search.decide()
        q = dict(zip(best.solution.actions.tolist(), best.solution.q.tolist(), strict=True))
        assert q[found.action] == pytest.approx(best.value, abs=1e-6)  # levers that tell something are worth the same
        if a is not None:
            for planner in (exact, search):
                planner.update(a, {"room": y}, o)


def test_every_action_is_considered_in_the_end():
    """The best action comes last in the list and last by one step: 200 actions need (200 / k)^(1 / α) visits."""
    needed = int((200 / K) ** (1 / ALPHA))
    early, late = (decided(Hole(), solver="uct", sims=sims, beta=0.0) for sims in (needed // 4, 2 * needed))
    assert early.action != 199 and early.solution.visits[199] == 0 and early.solution.q[199] == -np.inf
    assert late.action == 199 and late.value == pytest.approx(9.0, abs=1e-12)
    assert np.isfinite(late.solution.q).all()


def test_all_actions_have_their_rewards_in_the_table_at_once():
    found = decided(Vault(1000), solver="uct", sims=1)
    exact = decided(Vault(1000), solver="exact")
    assert np.allclose(found.solution.mean_reward, exact.solution.mean_reward, atol=1e-12)
    assert np.allclose(found.solution.mean_bonus, exact.solution.mean_bonus, atol=1e-12)
    assert found.solution.actions.tolist() == list(range(1000))


def test_an_action_is_not_chosen_for_what_it_promises():
    for sims in (2, 10, 50):
        found = decided(Hopeful(), solver="uct", sims=sims, beta=0.0)
        assert (found.solution.visits == 0).sum() >= 100 - sims
        assert found.name == "0" and found.value == pytest.approx(1.0)


def test_pushes_from_a_fine_range_are_near_the_optimum():
    """With the belief frozen, the cost of n pushes from x is w_n (x − 0.5)², by the Riccati recursion
    w_{n+1} = (1 + w_n) (1 − m₁² / m₂), and the best force is −(m₁ / m₂) (x − 0.5), where m₁ and m₂ are the moments of
    1 − drag. From 0 that is 0.5628, at a cost of 0.0083.
    """
    d, p = np.array([0.0, 0.2, 0.4]), np.array([0.5, 0.3, 0.2])
    m1, m2 = p @ (1 - d), p @ (1 - d) ** 2
    w = 0.0
    for _ in range(3):
        w = (1.0 + w) * (1.0 - m1 * m1 / m2)
    found = decided(Glide(), solver="uct", sims=4000)
    assert abs(Glide().action_values(found.action)["force"] - 0.5 * m1 / m2) <= 0.03
    assert found.value == pytest.approx(-0.25 * w, abs=0.02)  # no push at all costs 0.75


def test_a_model_with_many_actions_conforms():
    planner_conforms(lambda model: pl.PomdpLite(model, solver="uct", sims=300), Vault(100))


def test_few_actions_are_all_considered_at_once():
    model = pl.make_model("rocksample-20-20")
    assert len(model.actions) <= MANY
    assert np.isfinite(decided(model, solver="uct", sims=1).solution.q).all()


def test_too_many_next_states_for_the_memory_are_refused():
    view = Vault(100).compiled_form.kernel_view()
    solver = UctSolver(view, 0.95, 1.0, budget=Budget(None, 10), exploration=5.0, search_depth=10, nodes=50)
    solver.reset(np.full(5, 0.25), 0)
    with pytest.raises(pl.TooLargeError, match="the next states of 100 actions do not fit into the 50 states"):
        solver.solve(view.kernel_model, view.root(), np.array([0.25, 0.25, 0.25, 0.25, 1.0]))


def test_nodes_list_the_best_of_the_root_and_the_first_of_the_list_by_turns():
    widening = allocate_widening(Hole().compiled_form.kernel_view().kernel_model, merged=True)
    set_order(widening, np.array([8, 1, 4], np.int32), np.array([1.0, 3.0, 2.0]))
    assert widening.order[:6].tolist() == [1, 0, 4, 8, 2, 3] and sorted(widening.order) == list(range(200))


class NoisyGlide(Glide):
    """The same with noise where it comes to rest, and a sensor."""

    noise = pl.Gaussian(at=0.05)
    observations = pl.Reading(at=float, noise=pl.Gaussian(at=0.1))

    def observation(m, y, theta, a, z):
        z.at = y.at

    def reward(m, x, theta, a, y):
        return -((y.at - 0.5) ** 2)


class Switches(pl.Model):
    """A row of switches, one of which turns on the light; the reading says so. The right guess ends it."""

    state = pl.State(over=bool)
    hidden = pl.Hidden(switch=tuple(range(50)))
    actions = tuple(f"try-{i}" for i in range(50)) + tuple(f"say-{i}" for i in range(50))
    observations = pl.Reading(bright=float, noise=pl.Gaussian(bright=0.3))
    discount = 0.95
    beta = 5.0

    def transition(m, x, theta, a, y):
        y.over = a >= 50

    def observation(m, y, theta, a, z):
        if a == theta.switch:
            z.bright = 1.0

    def reward(m, x, theta, a):
        return -1.0 if a < 50 else (20.0 if a - 50 == theta.switch else -20.0)

    def terminal(m, x):
        return x.over


@pytest.mark.slow
def test_a_search_with_noise_widens_over_actions_too():
    """Noise of steps adds its variance to every cost, and leaves the best force where it is."""
    d, p = np.array([0.0, 0.2, 0.4]), np.array([0.5, 0.3, 0.2])
    best = 0.5 * (p @ (1 - d)) / (p @ (1 - d) ** 2)
    found = decided(NoisyGlide(), sims=3000)
    assert abs(NoisyGlide().action_values(found.action)["force"] - best) <= 0.05
    assert found.solution.actions.tolist() == list(range(1001)) and (found.solution.visits == 0).any()
    assert decided(NoisyGlide(), sims=3000).solution.q.tolist() == found.solution.q.tolist()


@pytest.mark.slow  # kernels of its own
def test_what_leads_back_is_known_without_a_try():
    """To try a switch changes nothing but the belief: the search never descends there, and need not."""
    planner = pl.PomdpLite(Switches(), sims=200)
    planner.reset(1000)
    assert planner.decide().name.startswith("try-")
    for a, seen in (("try-7", 1.1), ("try-7", 0.9), ("try-7", 1.0)):
        planner.update(a, {"over": False}, seen)
    assert planner.decide().name == "say-7"
