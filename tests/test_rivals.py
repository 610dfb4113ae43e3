"""QMDP, POMCP and DESPOT against brute force, and the hints of a model that they use."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ChangingParts, Parts, Tables, action_values, comes_close, tables

import pomdplite as pl
from pomdplite.beliefs.protocol import StepNote
from pomdplite.compile import abi
from pomdplite.mdp.budget import CLOCKS
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import momdp_form
from pomdplite.model.records import to_words


def full_information_reference(m: Tables) -> np.ndarray:
    """V_θ(x) as [x, present θ], by plain value iteration."""
    xs, thetas, actions, _ = m.t.shape
    v = np.zeros((xs, thetas))
    for _ in range(2000):
        new = np.zeros_like(v)
        for x in range(xs):
            if x in m.terminal:
                continue
            for theta in range(thetas):
                new[x, theta] = max(
                    m.r[x, theta, a]
                    + m.discount * m.t[x, theta, a] @ v[:, m.later[x, theta, a] if m.changes else theta]
                    for a in range(actions)
                    if m.legal[x, a]
                )
        if np.abs(new - v).max() < 1e-12:
            break
        v = new
    return v


@pytest.mark.parametrize("layered", [False, True])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_full_information_values_are_those_of_each_mdp(layered, data):
    m = data.draw(tables(layered=layered).filter(lambda m: 0 not in m.terminal))
    momdp = momdp_form(m.model())
    values, expected = full_information_values(momdp, m.discount), full_information_reference(m)
    for state in range(1, momdp.reachable.states):
        x = int(momdp.view.record(momdp.reachable.graph.states[state])[0])
        np.testing.assert_allclose(values[state], expected[x], atol=1e-6)


@pytest.mark.parametrize("kind", [Parts, ChangingParts])
@pytest.mark.parametrize("seed", range(6))
def test_full_information_values_of_components_are_those_of_their_product(kind, seed):
    """The same model with θ by components and listed as a whole."""
    model = kind(seed, 3)
    momdp = momdp_form(model)
    values = full_information_values(momdp, model.discount)
    whole = pl.BayesOptimal(model)
    whole.prepare()
    root, there = momdp.reachable.find(momdp.view.root()), whole.reachable.find(whole.view.root())
    np.testing.assert_allclose(values[root], whole.upper[there], atol=1e-6)


def qmdp_and_despot_come_close(m: Tables) -> None:
    """QMDP's bound holds, and DESPOT's action is at most 0.3 worse than the best; returns span 30."""
    model, q = m.model(), action_values(m)
    best = max(q.values())
    qmdp = pl.Qmdp(model)
    qmdp.reset()
    assert qmdp.decide().bounds[1] >= best - 1e-9
    despot = pl.Despot(model, sims=2000, scenarios=3000)
    despot.reset(3)
    decision = despot.decide()
    assert q[decision.action] >= best - 0.3, (q, decision.solution.q)
    low, high = decision.bounds
    assert low <= high + 1e-9
    assert abs(low - best) < 0.6 and abs(high - low) < 0.6  # the scenarios' own sampling error


@settings(max_examples=40, deadline=None)
@given(tables(layered=True))
def test_qmdp_and_despot_with_ample_budget_against_bayes_optimal(m):
    qmdp_and_despot_come_close(m)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tables(layered=True))
def test_qmdp_and_despot_with_ample_budget_against_bayes_optimal_on_many_models(m):
    qmdp_and_despot_come_close(m)


class Detour(pl.Model):
    """Repeating "right" is best, though it is not legal everywhere on the way, so no node of the tree repeats it."""

    state = pl.State(place=int)
    hidden = pl.Hidden(coin=("heads", "tails"))
    actions = ("left", "right", "wait")
    discount = 1.0
    horizon = 3

    def transition(m, x, theta, a, y):
        y.place = x.place + 1 if a != 0 or x.place > 0 else 3

    def reward(m, x, theta, a):
        if x.place == 2:
            return 10.0 if a == 1 else 0.0
        return 1.0 if x.place == 0 and a == 0 else 0.0

    def legal(m, x, a):
        return a == 0 or (a == 1) == (x.place != 1)

    def terminal(m, x):
        return x.place == 3


def test_despot_follows_its_default_policy_where_no_searched_action_is_better():
    planner = pl.Despot(Detour(), sims=5, scenarios=20)
    planner.reset()
    decision = planner.decide()
    assert decision.bounds == (10.0, 10.0) and decision.name == "right"


@settings(max_examples=20, deadline=None)
@given(tables(layered=True))
def test_pomcp_with_ample_budget_comes_close_to_bayes_optimal(m):
    for kind in (pl.Pomcp, pl.PomcpExact):
        comes_close(kind, m, 300_000)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tables(layered=True))
def test_pomcp_with_ample_budget_comes_close_to_bayes_optimal_on_many_models(m):
    for kind in (pl.Pomcp, pl.PomcpExact):
        comes_close(kind, m, 300_000)


@pytest.mark.parametrize("changes", [False, True])
def test_pomcps_particles_represent_the_posterior(changes):
    """After each step in a random model the particles agree with the exact belief within sampling error."""
    kind = ChangingParts if changes else Parts
    compared = 0
    for seed in range(6):
        model = kind(seed, 3)
        exact, planner = pl.PomcpExact(model, sims=50), pl.Pomcp(model, sims=20_000, particles=4000)
        exact.reset(1)
        planner.reset(1)
        world = pl.ModelWorld(model)
        world.reset(seed, 0)
        for _ in range(4):
            a = planner.decide().action
            result = world.step(a)
            planner.update(a, result.y, result.o)
            exact.update(a, result.y, result.o)
            if result.terminated:
                break
            for got, expected in zip(planner.belief.marginals(), exact.belief.marginals(), strict=True):
                np.testing.assert_allclose(got, expected, atol=0.08)
                compared += 1
    assert compared > 20


def test_particles_that_die_out_are_recovered_with_a_note():
    model = pl.RockSample(2, [(0, 1), (1, 1)])  # the rover starts at the first rock: checking it is certain
    particles = pl.RejectionBelief(model, 3)
    seed = 0
    while particles.marginals()[0][1] > 0.0:  # until the rock is bad in every particle
        seed += 1
        particles.reset(seed)
    x = model.initial_state()
    particles.update(x, "check-0", x, 1)
    told, quality = particles.notes
    assert "recovered from the previous particles" in told and isinstance(quality, StepNote)
    assert particles.marginals()[0][1] == 1.0


def test_an_observation_that_no_particle_explains_is_an_error():
    model = pl.RockSample(2, [(0, 1), (1, 1)])
    particles = pl.RejectionBelief(model, 50)
    x = model.initial_state()
    with pytest.raises(pl.ImpossibleObservationError, match="none of 50 particles explains"):
        particles.update(x, "east", x, None)


def test_the_same_seed_and_simulations_give_the_same_decision():
    model = pl.make_model("rocksample-4-4")
    for make in (
        lambda: pl.Pomcp(model, sims=2000),
        lambda: pl.PomcpExact(model, sims=2000),
        lambda: pl.Despot(model, sims=20),
    ):
        first, second = make(), make()
        first.reset(5)
        second.reset(5)
        a, b = first.decide(), second.decide()
        np.testing.assert_array_equal(a.solution.q, b.solution.q)
        assert a.solution.steps == b.solution.steps


@pytest.mark.parametrize("name", ["pomcp", "pomcp-exact", "despot"])
def test_a_search_ends_when_its_time_is_over(name, monkeypatch):
    """On a clock that advances by a millisecond whenever it is read; some of the time is left for the update."""
    readings = itertools.count()
    monkeypatch.setitem(CLOCKS, "wall", lambda: 0.001 * next(readings))
    planner = pl.make_planner(name, pl.make_model("rocksample-7-8"), time=0.05)
    planner.reset()
    decision = planner.decide()
    assert 0.03 <= decision.seconds < 0.06 and decision.solution.simulations > 0


def test_despot_prunes_with_lambda():
    """With a high cost of nodes only the default policy is left: straight to the exit."""
    model = pl.make_model("rocksample-4-4")
    free, costly = pl.Despot(model, sims=60), pl.Despot(model, sims=60, pruning=1.0)
    for planner in (free, costly):
        planner.reset(2)
    assert free.decide().value > costly.decide().value + 0.5
    assert costly.decide().name == "east"
    assert costly.decide().solution.deepest <= free.decide().solution.deepest


def test_despot_lets_nodes_cost_something_where_scenarios_part_at_once():
    """Light-Dark has 162 readings: without λ a plan for each scenario looks as good as knowing the position."""
    model = pl.LightDarkBins()
    chosen, free = pl.Despot(model, sims=60, scenarios=300), pl.Despot(model, sims=60, scenarios=300, pruning=0.0)
    for planner in (chosen, free):
        planner.reset(1000)
    assert chosen.decide().bounds[1] < free.decide().bounds[1] - 1.0
    assert any("scenarios part" in words for words in chosen.choices)
    gap = pl.evaluate(model, chosen, 20, 1000).difference(pl.evaluate(model, free, 20, 1000))
    assert gap.mean > 3 * gap.stderr


@pytest.mark.parametrize("problem", ["tiger", "rocksample-4-4"])
def test_despots_nodes_cost_nothing_where_scenarios_stay_together(problem):
    planner = pl.Despot(pl.make_model(problem), sims=20, scenarios=10)
    planner.reset(1)
    planner.decide()
    assert planner._settings.pruning == 0.0 and not any("part" in words for words in planner.choices)


def test_qmdp_is_better_with_informative_ties_than_with_random_ones():
    model = pl.make_model("rocksample-4-4")
    informative = pl.evaluate(model, pl.Qmdp(model), 300, 1)
    drawn = pl.evaluate(model, pl.Qmdp(model, ties="random"), 300, 1)
    gap = informative.difference(drawn)
    assert gap.mean > 3 * gap.stderr


def test_qmdp_names_the_sizes_that_do_not_fit():
    with pytest.raises(pl.TooLargeError, match=r"50 states × 256 values of θ\) need 102 KB; the limit is 10 KB"):
        pl.Qmdp(pl.make_model("rocksample-7-8"), memory=1e-5).prepare()


@pytest.mark.parametrize("name", ["qmdp", "sarsop"])
def test_a_hidden_parameter_that_cannot_be_listed_is_refused(name):
    with pytest.raises(pl.TooLargeError, match="hidden values cannot be listed"):
        pl.make_planner(name, pl.make_model("battleship-5-2")).prepare()


@pytest.mark.parametrize("problem", ["rocksample-4-4", "battleship-6-3"])
def test_preferred_actions_are_legal(problem):
    """Along random episodes."""
    model = pl.make_model(problem)
    view = model.compiled_form.kernel_view()
    world, rng = pl.ModelWorld(model), np.random.default_rng(3)
    h, f = np.zeros((1, view.kernel_model.h_words), np.uint64), np.zeros(len(model.actions))
    for episode in range(5):
        world.reset(1, episode)
        h[:] = 0
        x = view.root()[: model.state.words]
        for _ in range(30):
            count = int(abi.preferred(view.kernel_model, x.reshape(1, -1), 0, h, 0, f))
            chosen = np.flatnonzero(f)
            assert count == len(chosen) > 0
            assert all(model.compiled_form.interpreted.legal(view.record(x), int(a)) for a in chosen)
            a = int(rng.choice(chosen))
            result = world.step(a)
            y = to_words(model.state.dtype, result.y)
            abi.remember(view.kernel_model, x.reshape(1, -1), a, y.reshape(1, -1), 0, result.o, h, 0)
            x = y
            if result.terminated:
                break


def test_rocksamples_upper_bound_is_at_least_the_full_information_value():
    model = pl.RockSample(4, [(0, 0), (3, 1), (2, 3)])
    momdp = momdp_form(model)
    values = full_information_values(momdp, model.discount)
    for state in range(1, momdp.reachable.states):
        x = momdp.view.record(momdp.reachable.graph.states[state])
        for j in range(8):
            theta = model.hidden.record([(j >> 2) & 1, (j >> 1) & 1, j & 1])
            assert model.compiled_form.interpreted.upper(x, theta) >= values[state, j] - 1e-9


def test_despot_uses_the_upper_bound_of_a_model_whose_hidden_values_cannot_be_listed():
    planner = pl.Despot(pl.make_model("battleship-5-2"), sims=20, scenarios=50)
    planner.reset(1)
    low, high = planner.decide().bounds
    assert low <= high <= 25 - 5


# ---------------------------------------------------------------------- most likely


class Corridor(pl.Model):
    """Walk to the end where the lamp is; every step costs the same, wherever it leads."""

    state = pl.State(cell=np.int8)
    hidden = pl.Hidden(lamp=("left", "right"))
    actions = ("left", "right")
    discount = 0.95

    def transition(m, x, theta, a, y):
        y.cell = x.cell + 2 * a - 1

    def reward(m, x, theta, a):
        return -3.0

    def terminal(m, x):
        return abs(x.cell) == 2


def test_searches_explore_where_all_rewards_are_equal():
    """A range of rewards of 0 would leave UCB1 without exploration."""
    rival, own = pl.Pomcp(Corridor(), sims=10), pl.PomdpLite(Corridor(), solver="uct", beta=0.0, sims=10)
    rival.prepare()
    own.prepare()
    assert rival.c == 3.0 and own.solver.parameters.c == 1.5


def test_the_most_likely_planner_opens_a_door_at_once_on_tiger():
    """Listening is of no use to it: it opens the door away from the side that it believes in, for (10 − 100) / 2."""
    planner = pl.MostLikely(pl.Tiger())
    planner.reset()
    assert planner.decide().name == "open-right" and planner.decide().value == 10.0
    planner.update("listen", planner.state, "hear-right")
    assert planner.decide().name == "open-left"
    result = pl.evaluate("tiger", "most-likely", episodes=2000, seed=1)
    assert abs(result.mean + 45) < 4 * result.stderr


def known_q(m: Tables, theta: int, x: int) -> np.ndarray:
    """The action values of a known θ that never changes, in a layered model: by following every branch."""
    return np.array([
        m.r[x, theta, a] + m.discount * sum(
            p * (0.0 if y in m.terminal else known_q(m, theta, y)[m.legal[y]].max())
            for y, p in enumerate(m.t[x, theta, a]) if p > 0
        )
        for a in range(m.t.shape[2])
    ])  # fmt: skip


@settings(max_examples=15)
@given(tables(layered=True, changes=False))
def test_the_most_likely_planner_takes_the_values_of_that_theta(m):
    planner = pl.MostLikely(m.model())
    planner.reset()
    decision = planner.decide()
    q = known_q(m, int(np.argmax(m.prior)), 0)
    assert decision.solution.q == pytest.approx(q[decision.solution.actions], abs=1e-6)
    assert q[decision.action] == pytest.approx(q[m.legal[0]].max(), abs=1e-5)
