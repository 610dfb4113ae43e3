"""UCT converges to value iteration, is reproducible, and keeps within its budget and memory."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from models import Parts, internal_mdp, tables

import pomdplite as pl
from pomdplite.mdp import budget
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.search.listed.solver import UctSolver


def decide(model: pl.Model, **parameters) -> pl.Decision:
    planner = pl.PomdpLite(model, **parameters)
    planner.reset(3)
    return planner.decide()


@settings(max_examples=40, deadline=None)
@given(tables())
def test_the_graph_converges_to_the_internal_reward_mdp(m):
    assume(0 not in m.terminal)
    value, q = internal_mdp(m, 0.7)
    decision = decide(m.model(), beta=0.7, solver="uct", sims=600_000)  # a rare model needs more than 60,000
    scale = max(1.0, abs(value))
    assert abs(decision.value - value) < 0.02 * scale
    assert q[decision.action] > value - 0.02 * scale


@pytest.mark.slow
def test_the_tree_comes_closer_with_more_simulations():
    """Averaged returns include the cost of exploring, so convergence is slow. Measured on six fixed models."""
    gaps = {300: [], 30_000: []}
    for seed in range(6):
        exact = decide(Parts(seed), beta=0.5, solver="exact")
        for sims, found in gaps.items():
            decision = decide(Parts(seed), beta=0.5, solver="uct-tree", sims=sims)
            assert decision.solution.simulations == sims and decision.solution.solver == "UCT on a tree"
            found.append(abs(decision.value - exact.value) / abs(exact.value))
    assert np.mean(gaps[30_000]) < 0.6 * np.mean(gaps[300])
    assert np.mean(gaps[30_000]) < 0.25


def test_more_simulations_come_closer_on_rocksample():
    model = pl.make_model("rocksample-4-4")
    exact = decide(model, solver="exact")
    gaps = [abs(decide(model, solver="uct", sims=n).value - exact.value) for n in (1, 100, 5000)]
    assert gaps[2] <= gaps[0] and gaps[2] < 1e-3


def test_it_chooses_as_the_exact_solver_does_along_whole_episodes():
    """The action's exact Q is within 0.05 of the best in at least 95 % of steps."""
    model = pl.make_model("rocksample-7-8")
    search, exact = pl.PomdpLite(model, solver="uct", sims=5000), pl.PomdpLite(model, solver="exact")
    world, good, steps = pl.ModelWorld(model), 0, 0
    for episode in range(4):
        world.reset(17, episode)
        search.reset(episode)
        exact.reset()
        over = False
        while not over:
            chosen, truth = search.decide(), exact.decide()
            found = truth.solution
            good += found.q[found.actions.tolist().index(chosen.action)] > truth.value - 0.05
            steps += 1
            outcome = world.step(chosen.action)
            for planner in (search, exact):
                planner.update(chosen.action, outcome.y, outcome.o)
            over = outcome.terminated or steps > 400
    assert good >= 0.95 * steps


@pytest.mark.parametrize("solver", ["uct", "uct-tree"])
def test_the_same_seed_and_simulations_give_the_same_decision(solver):
    model = pl.make_model("rocksample-7-8")
    one, two = (decide(model, solver=solver, sims=700).solution for _ in range(2))
    assert one.q.tolist() == two.q.tolist() and one.visits.tolist() == two.visits.tolist() and one.line == two.line
    results = [pl.evaluate("rocksample-4-4", episodes=6, seed=2, workers=w, solver=solver, sims=200) for w in (1, 2)]
    assert results[0].returns.tolist() == results[1].returns.tolist()


def test_it_can_be_inspected():
    decision = decide(pl.make_model("rocksample-7-8"), solver="uct", sims=2000)
    found = decision.solution
    assert found.solver == "UCT on a graph" and found.simulations == 2000
    assert found.visits.sum() > 1000 and found.steps >= 2000 and found.deepest > 3 and found.states > 500
    assert decision.line[0] == decision.name
    for row in decision.table():
        assert abs(row.q - row.reward - row.bonus) < 1e-9


def test_auto_takes_the_exact_solver_while_it_fits_the_budget():
    assert decide(pl.make_model("rocksample-7-8")).solution.solver == "value iteration"
    assert decide(pl.make_model("rocksample-7-8"), time=0.001).solution.solver == "UCT on a graph"
    assert decide(pl.make_model("battleship-5-2"), sims=5).solution.solver == "UCT on a graph"


def test_a_search_without_space_for_new_states_continues_and_reports_it():
    model = pl.make_model("rocksample-11-11")
    view = model.compiled_form.kernel_view()
    search = UctSolver(view, 0.95, 0.8, budget=Budget(None, 3000), exploration=10.0, nodes=300, pairs=4000)
    search.reset(view.table.prior, 1)
    found = search.solve(view.kernel_model, view.root(), view.table.prior)
    assert found.full and found.states <= 300 and np.isfinite(found.q).all()


def search_twice(observation: str | None) -> tuple[pl.Decision, pl.Decision]:
    """Decisions before and after a step that leaves the state as it is."""
    planner = pl.PomdpLite(pl.make_model("rocksample-4-4"), solver="uct", sims=300)
    planner.reset(1)
    before = planner.decide()
    if observation is not None:
        planner.update("check-2", planner.state, observation)
    return before, planner.decide()


def test_the_graph_is_kept_while_the_belief_stays_the_same():
    before, after = search_twice(None)
    assert after.solution.visits.sum() > 1.5 * before.solution.visits.sum()


def test_a_belief_change_starts_a_new_graph():
    before, after = search_twice("bad")
    assert after.solution.visits.sum() <= 300 < 1.5 * before.solution.visits.sum()


def test_after_a_belief_change_the_values_are_those_of_the_new_belief():
    model = pl.make_model("rocksample-4-4")
    search, exact = pl.PomdpLite(model, solver="uct", sims=4000), pl.PomdpLite(model, solver="exact")
    for planner in (search, exact):
        planner.reset(1)
        planner.decide()
        planner.update("check-2", planner.state, "bad")
    np.testing.assert_allclose(search.decide().value, exact.decide().value, atol=1e-3)


class StepClock:
    """A clock that advances by a fixed time per reading, and counts its readings."""

    def __init__(self, step: float) -> None:
        self.step, self.readings = step, 0

    def __call__(self) -> float:
        self.readings += 1
        return self.readings * self.step


@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.3])
def test_the_time_budget_is_kept(seconds, monkeypatch):
    """With a clock that advances 5 ms per batch of simulations, the search stops at the batch that spends the budget."""
    clock = StepClock(0.005)
    monkeypatch.setitem(budget.CLOCKS, "wall", clock)
    planner = pl.PomdpLite(pl.make_model("rocksample-4-4"), solver="uct", time=seconds)
    planner.reset()
    before = clock.readings
    assert planner.decide().solution.simulations > 0
    batches = clock.readings - before - 3  # the others: start and end of the decision, start of the search
    assert abs(batches * clock.step - seconds) <= 1.5 * clock.step


def test_batches_grow_while_they_are_short_and_shrink_when_they_are_long(monkeypatch):
    monkeypatch.setitem(budget.CLOCKS, "wall", ticks := StepClock(1e-5))
    clock, sizes = Budget(100.0).start(), []
    for _ in range(8):
        sizes.append(clock.portion(sum(sizes)))
    assert sizes == [1, 2, 4, 8, 16, 32, 64, 128]
    ticks.step = 0.1
    assert clock.portion(sum(sizes)) == 64


def test_a_model_without_heuristic_is_searched_by_rollouts():
    class Plain(pl.RockSample):
        heuristic = None
        exploration = None

    model = Plain(3, [(0, 0), (2, 2)])
    exact, search = decide(model, solver="exact"), decide(model, solver="uct", sims=5000)
    assert abs(exact.value - search.value) < 0.05


def test_a_loop_that_earns_forever_is_refused():
    with pytest.raises(pl.NotConvergingError, match="'listen'"):
        decide(pl.Tiger(discount=1.0), beta=30, solver="uct", sims=100)


def test_rocksample_20_20_is_planned_online():
    result = pl.evaluate("rocksample-20-20", episodes=1, seed=4, sims=300)
    assert result.mean > 5 and result.episodes[0].steps > 10


def test_particles_that_move_start_a_new_graph():
    """After resampling all weights are equal again, so the weights alone do not tell one belief from the next."""
    planner = pl.PomdpLite(pl.Battleship(4, 1), sims=40, search_depth=3)
    planner.reset(3)
    first = planner.decide()
    twin = pl.PomdpLite(planner.model, sims=40, search_depth=3)
    twin.reset(3)
    for moved in (planner, twin):
        moved.belief._rows[: moved.belief.count] = moved.belief._rows[0]  # every particle is the same board now
    assert np.array_equal(planner.belief.probabilities, twin.belief.probabilities)
    assert first.solution.mean_bonus.max() > 0  # a shot tells which of several boards it is
    assert twin.decide().solution.mean_bonus.max() < 1e-9
    assert planner.decide().solution.mean_bonus.max() < 1e-9
