import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from models import ChangingParts, FlatChangingParts, FlatParts, Parts, internal_mdp, tables

import pomdplite as pl
from pomdplite.mdp.reachable import build
from pomdplite.mdp.value_iteration import ValueIteration


def decide(model: pl.Model, beta: float) -> pl.Decision:
    planner = pl.PomdpLite(model, beta=beta)
    planner.reset()
    return planner.decide()


@settings(max_examples=100, deadline=None)
@given(tables(), st.sampled_from([0.0, 0.7, 3.0]))
def test_is_the_internal_reward_mdp_of_the_paper(m, beta):
    """Against plain value iteration on Definition 1 and Equation 2 as the paper writes them."""
    assume(0 not in m.terminal)
    value, q = internal_mdp(m, beta)
    decision = decide(m.model(), beta)
    assert abs(decision.value - value) < 2e-5
    assert decision.solution.actions.tolist() == sorted(q)
    np.testing.assert_allclose(decision.solution.q, [q[a] for a in sorted(q)], atol=2e-5)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_factored_and_flattened_models_have_the_same_values(seed, changing):
    factored, flat = (ChangingParts(seed), FlatChangingParts(seed)) if changing else (Parts(seed), FlatParts(seed))
    one, two = decide(factored, 1.0).solution, decide(flat, 1.0).solution
    np.testing.assert_allclose(one.q, two.q, atol=2e-5)
    np.testing.assert_allclose(one.mean_bonus, two.mean_bonus, atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(tables())
def test_compiled_and_interpreted_agree_to_the_last_bit(m):
    assume(0 not in m.terminal)
    compiled, interpreted = decide(m.model(), 1.0), decide(m.model(compiled=False), 1.0)
    assert compiled.solution.q.tolist() == interpreted.solution.q.tolist()
    assert compiled.action == interpreted.action


def test_warm_start_gives_what_a_cold_start_gives():
    model = pl.make_model("rocksample-4-4")
    view = model.compiled_form.kernel_view()
    reachable = build(view, view.root())
    warm = ValueIteration(reachable, 0.95, 0.8)
    warm.reset(view.table.prior)
    chance = np.random.default_rng(3)
    state = reachable.find(view.root())
    for _ in range(20):
        b = view.table.prior.copy()
        for rock in range(4):
            p = chance.random()
            b[2 * rock : 2 * rock + 2] = [1 - p, p]
        cold = ValueIteration(reachable, 0.95, 0.8)
        np.testing.assert_allclose(warm.solve_at(state, b).q, cold.solve_at(state, b).q, atol=5e-6)


def test_only_states_that_the_belief_change_affects_are_solved_again():
    planner = pl.PomdpLite(pl.make_model("rocksample-7-8"))
    planner.reset()
    first = planner.decide()
    assert first.solution.solved == 0  # resetting has solved the prior
    planner.update("check-3", planner.state, "good")
    second = planner.decide()
    assert 0 < second.solution.solved <= 49 * 2**7  # states in which rock 3 is not sampled
    planner.update("south", {"col": 0, "row": 2}, None)
    assert planner.decide().solution.solved == 0  # moving carries no information


def test_states_are_ordered_so_that_actions_lead_to_earlier_components():
    model = pl.make_model("rocksample-4-4")
    view = model.compiled_form.kernel_view()
    r = build(view, view.root())
    assert r.states == 4 * 4 * 2**4 + 1
    of = r.components.of
    for s in range(1, r.states):
        for edge in range(r.graph.first_edge[s], r.graph.first_edge[s + 1]):
            assert of[r.graph.next[edge]] <= of[s]
        for pair in range(r.graph.split[s], r.graph.first[s + 1]):
            assert all(of[t] < of[s] or t == s for t in r.edges(s, pair))
    assert [r.find(r.graph.states[s]) for s in range(1, r.states)] == list(range(1, r.states))


def test_q_is_reward_part_plus_bonus_part():
    """In a chain both parts can be computed by hand: look (bonus), then go (reward)."""
    m = pl.tabular(
        {("start", "look"): "end-of-look", ("end-of-look", "*"): "over", ("over", "*"): "over"},
        {("end-of-look", "yes", "go"): 6.0, ("end-of-look", "no", "go"): 2.0},
        {("end-of-look", "yes", "look"): {"ping": 1.0}},
        discount=0.5, states=("start", "end-of-look", "over"), hidden=("no", "yes"), actions=("look", "go"),
        observations=("ping",), terminal=("over",), legal=[[1, 0], [0, 1], [1, 1]],
    )  # fmt: skip
    decision = decide(m, beta=2.0)
    row = decision.table()[0]
    assert abs(row.mean_bonus - 2.0 * 1.0) < 1e-12  # E‖b' − b‖₁ = Σ 2 P(o) (1 − P(o)) = 1
    assert abs(row.bonus - 2.0) < 1e-9 and abs(row.reward - 0.5 * 4.0) < 1e-9 and abs(row.q - 4.0) < 1e-9


def test_a_loop_that_earns_forever_is_refused_without_discount():
    planner = pl.PomdpLite(pl.Tiger(discount=1.0), beta=30)
    with pytest.raises(
        pl.NotConvergingError, match=r"unbounded.*'listen' \(reward -1, bonus 21\) earns 20 per step forever"
    ):
        planner.reset()


def test_a_loop_over_two_states_that_earns_forever_is_refused():
    m = pl.tabular(
        {("a", "go"): "b", ("b", "go"): "a", ("a", "stop"): "over", ("b", "stop"): "over", ("over", "*"): "over"},
        {("a", "go"): 2.0, ("b", "go"): -1.0, ("a", "yes", "stop"): 5.0},
        discount=1.0, states=("a", "b", "over"), hidden=("no", "yes"), actions=("go", "stop"), terminal=("over",),
    )  # fmt: skip
    with pytest.raises(pl.NotConvergingError, match="forever"):
        decide(m, 0.0)


def test_no_way_to_the_end_is_refused_without_discount():
    m = pl.tabular(
        {("a", "go"): "b", ("b", "go"): "a"}, {("*", "*"): -1.0, ("a", "yes", "go"): -2.0},
        discount=1.0, states=("a", "b"), hidden=("no", "yes"), actions=("go",),
    )  # fmt: skip
    with pytest.raises(pl.NotConvergingError, match="no legal action leads towards a terminal state"):
        decide(m, 0.0)


def test_without_discount_a_costly_loop_is_fine():
    assert decide(pl.Tiger(discount=1.0), 0.0).value == -45.0
    # going round has a cost, stopping in b pays: go, then stop
    m = pl.tabular(
        {("a", "go"): "b", ("b", "go"): "a", ("*", "stop"): "over", ("over", "go"): "over"},
        {("*", "go"): -1.0, ("b", "stop"): 7.0, ("a", "stop"): -3.0, ("a", "yes", "stop"): -3.5},
        discount=1.0, states=("a", "b", "over"), hidden=("no", "yes"), actions=("go", "stop"), terminal=("over",),
    )  # fmt: skip
    assert abs(decide(m, 0.0).value - 6.0) < 1e-9


def test_too_many_states_are_refused_and_pomdp_lite_suggests_the_online_solver():
    model = pl.make_model("rocksample-7-8")
    with pytest.raises(pl.TooLargeError, match=r'more than 5,000 reachable states\. Use .* solver="uct"'):
        pl.PomdpLite(model, solver="exact", limit=5000).reset()
    view = model.compiled_form.kernel_view()
    with pytest.raises(pl.TooLargeError, match=r"reachable states\.$"):  # other planners have no such solver
        build(view, view.root(), limit=5000)


def trap(cells: int) -> pl.Model:
    """Without discount: enter a trap of one or two states that costs forever, or leave for -5."""
    names = ("start", "pit", "hole", "over")
    inside = {("pit", "go"): "pit"} if cells == 1 else {("pit", "go"): "hole", ("hole", "go"): "pit"}
    return pl.tabular(
        {("start", "go"): "pit", ("start", "leave"): "over", **inside, ("hole", "*"): "hole", ("over", "*"): "over"}
        | inside | {("pit", "leave"): "pit" if cells == 1 else "hole", ("hole", "leave"): "pit"},
        {("*", "*"): -1.0, ("start", "leave"): -5.0, ("start", "yes", "leave"): -5.0},
        discount=1.0, states=names, hidden=("no", "yes"), actions=("go", "leave"), terminal=("over",),
    )  # fmt: skip


@pytest.mark.parametrize("cells", [1, 2])
def test_a_trap_is_avoided_where_there_is_another_way(cells):
    decision = decide(trap(cells), 0.0)
    assert decision.name == "leave" and decision.value == -5.0 and decision.solution.q[0] == -np.inf


def test_a_discount_close_to_one_converges():
    m = pl.tabular(
        {("a", "go"): "b", ("b", "go"): "a"}, {("a", "go"): 1.0, ("b", "go"): 0.3, ("b", "yes", "go"): 0.3},
        discount=0.9999, states=("a", "b"), hidden=("no", "yes"), actions=("go",),
    )  # fmt: skip
    assert abs(decide(m, 0.0).value - (1 + 0.9999 * 0.3) / (1 - 0.9999**2)) < 1e-5


@pytest.mark.parametrize("name", ["kitchen", "doorman", "rocksample-4-4"])
def test_the_expected_actions_are_the_decisions_in_the_likeliest_states(name):
    """Each is what the planner decides if an episode starts, with the same belief, in the likeliest state so far."""
    planner = pl.PomdpLite(pl.make_model(name), beta=0)
    planner.reset()
    line, x = planner.decide().line, planner.state
    for action in line:
        planner.reset(x=x)
        assert planner.decide().name == action
        x = max(planner.belief.mean_transition(x, action), key=lambda pair: pair[1])[0]
    assert len(line) >= 4
