"""Models whose listing is large: a hidden position that moves and is clamped, read on a scale of two hundred values."""

import math
from math import erf, sqrt

import numpy as np
import pytest
from distributed_models import Bernoulli
from scipy.special import ndtr

import pomdplite as pl
from pomdplite.errors import TooLargeError
from pomdplite.mdp import memory
from pomdplite.mdp.distinct_steps import ALL, allocate_step_values, evaluate_steps
from pomdplite.mdp.observation_rows import ObservationRows
from pomdplite.mdp.outcomes import allocate_outcomes, outcomes
from pomdplite.mdp.reachable import build
from pomdplite.mdp.reward_range import reward_range
from pomdplite.mdp.search.drawn.solver import has_many_likelihoods
from pomdplite.planners import beta as choice
from pomdplite.planners import raced_policies

MOVES = (-10, -1, 0, 1, 10)
STOP = 2


class Position(pl.Model):
    """Light-Dark as a newcomer writes it: the position itself is hidden, and there are 203 readings."""

    state = pl.State(done=bool)
    hidden = pl.Hidden(position={s: (1 / 61 if -30 <= s <= 30 else 0.0) for s in range(-60, 61)})
    actions = ("left-10", "left-1", "stop", "right-1", "right-10")
    observations = tuple(str(o) for o in range(-101, 102))
    discount = 0.95
    horizon = 100

    def transition(m, x, theta, a, y):
        y.done = a == STOP

    def evolve(m, x, theta, a, theta_next):
        theta_next.position = min(60, max(-60, theta.position + MOVES[a]))

    def observation(m, y, theta, a, z):
        if a != STOP:
            spread, below = (abs(theta.position - 10) + 1e-4) * sqrt(2), 0.0
            for o in range(203):
                above = 1.0 if o == 202 else 0.5 * (1 + erf((o - 100.5 - theta.position) / spread))
                z[o] = above - below
                below = above

    def reward(m, x, theta, a):
        if a == STOP:
            return 100.0 if theta.position == 0 else -100.0
        return -1.0

    def terminal(m, x):
        return x.done


@pytest.fixture(scope="module")
def model() -> pl.Model:
    return Position()


def test_listing_ends_with_the_numbers_that_a_step_has_time_for(model):
    view = model.compiled_form.kernel_view()
    with pytest.raises(TooLargeError, match=r"the first \d\d of its states have .* and a step has time for 2,000,000"):
        build(view, view.root(), numbers=2e6)


@pytest.mark.parametrize("limit", ["200MB", "20MB"])
def test_auto_searches_and_says_why_where_the_graph_does_not_fit(model, limit, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, limit)
    planner = pl.PomdpLite(model, beta=10, sims=200)
    planner.reset()
    searches = planner.choices[2]
    assert searches.startswith("searches, since the graph of its reachable states") and "POMDPLITE" not in searches
    assert planner.decide().name == "right-10"  # to the light
    with pytest.raises(TooLargeError, match=r"POMDPLITE_MEMORY.*solver=.uct"):
        pl.PomdpLite(model, beta=10, solver="exact").prepare()


def test_a_given_solver_needs_no_reason(model):
    planner = pl.PomdpLite(model, beta=10, solver="uct", sims=5)
    planner.prepare()
    assert planner.choices == ("β = 10: given", "5 simulations per step")


def test_the_search_of_this_model_is_that_with_thinned_beliefs(model):
    planner = pl.PomdpLite(model, beta=10, solver="uct", sims=50)
    planner.reset()
    assert planner.decide().solution.solver == "UCT with progressive widening"


def test_beliefs_are_thinned_where_a_step_compares_many_observations_with_many_values(model):
    assert has_many_likelihoods(model.compiled_form.kernel_view(), 0)  # 61 possible values × 204
    assert not has_many_likelihoods(TwoDoors().compiled_form.kernel_view(), 10**6)  # these are 2, whatever is said
    drawn = Bernoulli().compiled_form.kernel_view()
    assert has_many_likelihoods(drawn, 2000) and not has_many_likelihoods(drawn, 1000)  # × 3 observations
    assert not has_many_likelihoods(pl.make_model("battleship-5-2").compiled_form.kernel_view(), 10**6)


def test_a_search_with_all_possible_values_has_the_bonuses_of_definition_1(model):
    """There are 61 of them, and 64 are kept."""
    planner, belief = pl.PomdpLite(model, beta=10, solver="uct", sims=50), pl.initial_belief(model)
    planner.reset()
    for a, o in ((4, 120), (1, 99), (3, 110)):
        for value in planner.decide().table():
            expected = belief.expected_change((False,), value.action)
            assert value.mean_bonus == pytest.approx(10 * expected, abs=1e-9)
        planner.update(a, (False,), o)
        belief.update((False,), a, (False,), o)


def test_the_work_of_a_search_counts_observations_and_values(model):
    planner = pl.PomdpLite(model, beta=10, solver="uct", sims=1)
    planner.reset()
    planner.decide()
    assert planner.solver.comparisons == 5 * 61 * (1 + 51)


def test_choosing_beta_stops_where_steps_take_long_to_average(monkeypatch):
    monkeypatch.setattr(choice, "cache_folder", lambda: None)
    monkeypatch.setattr(raced_policies, "_FEW_AVERAGED", 0)
    monkeypatch.setattr(raced_policies, "_AVERAGED", 1e6)
    planner = pl.PomdpLite(TwoDoors())
    planner.prepare()
    assert "take too long for a choice" in planner.choices[0]


def test_the_range_of_rewards_takes_little_memory(model, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "20MB")
    assert reward_range(model.compiled_form.kernel_view()) == (-100.0, 100.0)


def test_rows_of_z_that_are_kept_are_those_that_the_model_writes(model):
    view = model.compiled_form.kernel_view()
    kernel_model, random = view.kernel_model, np.random.default_rng(0)
    kept, few, none = (allocate_outcomes(kernel_model, 4) for _ in range(3))
    assert len(kept.rows.key) > 1000
    few = few._replace(
        rows=ObservationRows(few.rows.key[:8], few.rows.sought, few.rows.z[: 8 * 204])
    )  # always replaced
    none = none._replace(rows=ObservationRows(none.rows.key[:1], none.rows.sought, none.rows.z[:204]))
    s = view.root().reshape(1, -1)
    for _ in range(30):
        a = int(random.integers(5))
        found = [(outcomes(kernel_model, s, 0, a, out), out) for out in (kept, few, none)]
        component, k, e = found[0][0]
        for numbers, out in found:
            assert numbers == (component, k, e)
            assert np.array_equal(out.likelihood[:e], none.likelihood[:e]) and np.array_equal(out.next[0], none.next[0])
        if a != STOP:
            s = none.next[:1].copy()


def test_states_tell_nothing_of_positions_that_the_prior_rules_out(model):
    """At a wall, two moves that undo each other elsewhere do not; but nobody starts there."""
    view = model.compiled_form.kernel_view()
    out, s = allocate_outcomes(view.kernel_model, 4), view.root().reshape(1, -1)
    for a in ("right-1", "left-10", "left-1", "right-10"):
        outcomes(view.kernel_model, s, 0, model.actions.index(a), out)
        s = out.next[:1].copy()
        assert np.array_equal(s[0], view.root()) == (a == "right-10")


def test_the_belief_follows_positions_to_the_wall(model):
    belief, at = pl.initial_belief(model), np.arange(-60, 61)
    p = np.where(np.abs(at) <= 30, 1 / 61, 0.0)
    for a, o in ((4, 150), (4, 140), (4, 160), (4, 155), (4, 162), (1, 158)):
        belief.update((False,), a, (False,), o)
        moved = np.zeros(121)
        np.add.at(moved, np.clip(at + MOVES[a], -60, 60) + 60, p)
        spread = np.abs(at - 10) + 1e-4
        seen = ndtr((o - 100.5 - at) / spread) - ndtr((o - 101.5 - at) / spread)
        p = moved * seen / (moved * seen).sum()
    assert belief.marginals()[0] == pytest.approx(p, abs=1e-12)


class TwoDoors(pl.Model):
    """Listening at a door tells about this door alone."""

    state = pl.State(opened=bool)
    hidden = pl.Hidden(door=pl.independent(2, ("tiger", "gold")))
    actions = ("listen-0", "listen-1", "open-0", "open-1")
    observations = ("growl", "silence")
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.opened = a >= 2

    def observation(m, y, theta, a, z):
        if a < 2:
            z[0] = 0.8 if theta.door[a] == 0 else 0.3
            z[1] = 1.0 - z[0]

    def reward(m, x, theta, a):
        return -1.0 if a < 2 else 10.0 if theta.door[a - 2] == 1 else -20.0

    def depends(m, x, a):
        return a % 2

    def terminal(m, x):
        return x.opened


def test_steps_are_evaluated_for_the_components_whose_belief_has_changed():
    view = TwoDoors().compiled_form.kernel_view()
    reachable = build(view, view.root())
    distinct, prior = reachable.distinct, view.table.prior
    values = allocate_step_values(distinct)
    evaluate_steps(view.kernel_model, distinct, prior, 1.0, values, ALL)
    of = distinct.component[: reachable.distinct_count]
    values.bonus[:] = values.reward[:] = math.nan
    evaluate_steps(view.kernel_model, distinct, np.array([0.1, 0.9, 0.5, 0.5, 1.0]), 1.0, values, np.uint64(0b01))
    assert np.isfinite(values.reward[of == 0]).all() and np.isnan(values.reward[of == 1]).all() and set(of) == {0, 1}


def test_a_decision_after_news_about_one_door_is_that_of_a_new_planner():
    one, other = (pl.PomdpLite(TwoDoors(), beta=2) for _ in range(2))
    for planner in (one, other):
        planner.reset()
        if planner is one:
            planner.decide()
        planner.update("listen-0", (False,), "growl")
        if planner is one:
            planner.decide()
        planner.update("listen-1", (False,), "silence")
    assert one.decide().table() == other.decide().table()
