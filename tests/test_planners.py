from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from known_values import TIGER_LEAD, TIGER_LEAD_VALUE, TIGER_VALUE
from models import best_value, start, tables
from problem_names import PLANNERS_OF_LISTED_MODELS

import pomdplite as pl
from pomdplite.testing import planner_conforms

SMALL = {"tiger": pl.Tiger, "rocksample-2": lambda: pl.RockSample(2, [(0, 1), (1, 1)])}

# Budgets that do not depend on the clock.
COUNTED = {
    "pomcp": {"sims": 400},
    "pomcp-exact": {"sims": 400},
    "pomcpow": {"sims": 400},
    "pft-dpw": {"sims": 400},
    "despot": {"sims": 30, "scenarios": 50},
    "sarsop": {"solve_trials": 60},
    "pomdp-lite-plus": {"sims": 20, "solve_trials": 60},
}


@pytest.mark.parametrize("problem", SMALL)
@pytest.mark.parametrize("name", PLANNERS_OF_LISTED_MODELS)
def test_every_planner_conforms_on_every_small_problem(name, problem):
    planner_conforms(lambda model: pl.make_planner(name, model, **COUNTED.get(name, {})), SMALL[problem]())


@pytest.mark.parametrize("beta", TIGER_LEAD)
def test_pomdp_lite_on_tiger_stops_at_the_known_lead(beta):
    planner = pl.PomdpLite(pl.Tiger(), beta=beta)
    planner.reset()
    lead = 0
    while planner.decide().name == "listen":
        planner.update("listen", planner.state, "hear-left")
        lead += 1
    assert lead == TIGER_LEAD[beta]
    assert planner.decide().name == "open-right"


def lead_value(lead: int, gamma: float) -> float:
    """The exact value of a Tiger planner that stops at this lead, by solving its chain of net hearings."""
    n = 2 * lead + 1
    matrix, right = np.eye(n), np.zeros(n)
    for i in range(n):
        d = i - lead
        p = 0.85**d / (0.85**d + 0.15**d)  # tiger on the side heard more
        if abs(d) == lead:
            right[i] = 10 * max(p, 1 - p) - 100 * min(p, 1 - p)
            continue
        up = 0.85 * p + 0.15 * (1 - p)
        right[i] = -1
        matrix[i, i + 1] -= gamma * up
        matrix[i, i - 1] -= gamma * (1 - up)
    return float(np.linalg.solve(matrix, right)[lead])


@pytest.mark.parametrize("lead", TIGER_LEAD_VALUE)
def test_the_leads_are_worth_what_is_known(lead):
    assert abs(lead_value(lead, 0.95) - TIGER_LEAD_VALUE[lead]) < 0.001


@pytest.mark.parametrize("discount", TIGER_VALUE)
def test_bayes_optimal_on_tiger(discount):
    planner = pl.BayesOptimal(pl.Tiger(discount=discount))
    planner.reset()
    decision = planner.decide()
    low, high = decision.bounds
    assert abs(decision.value - TIGER_VALUE[discount]) < 0.0006
    assert 0 <= high - low < 1e-6
    assert abs(decision.value - lead_value(3, discount)) < 1e-8


@settings(max_examples=60, deadline=None)
@given(tables(layered=True))
def test_bayes_optimal_is_the_value_of_the_belief_mdp(m):
    planner = pl.BayesOptimal(m.model(), nodes=20_000)
    planner.reset()
    assert abs(planner.decide().value - best_value(m, start(m), 0)) < 1e-9


@settings(max_examples=30, deadline=None)
@given(tables())
def test_a_deeper_search_tightens_the_bounds(m):
    assume(0 not in m.terminal)
    bounds = []
    for depth in (1, 3, 6):
        planner = pl.BayesOptimal(m.model(), search_depth=depth, nodes=30_000)
        planner.reset()
        bounds.append(planner.decide().bounds)
    for (low, high), (tighter_low, tighter_high) in pairwise(bounds):
        assert low <= tighter_low + 1e-8 and tighter_high <= high + 1e-8
        assert tighter_low <= tighter_high + 1e-8


def test_bayes_optimal_reports_the_gap_of_an_incomplete_search():
    planner = pl.BayesOptimal(pl.RockSample(3, [(0, 2), (2, 0), (1, 1)]), nodes=300)
    planner.reset()
    decision = planner.decide()
    low, high = decision.bounds
    assert decision.solution.states <= 300 and high - low > 0.01 and decision.solution.residual == high - low


def test_pomdp_lite_with_the_problems_beta_is_bayes_optimal_on_tiger():
    result = pl.evaluate("tiger", "pomdp-lite", episodes=4000, seed=5)
    best = pl.evaluate("tiger", "bayes-optimal", episodes=4000, seed=5)
    assert abs(result.mean - TIGER_VALUE[0.95]) < 3 * result.stderr
    assert result.returns.tolist() == best.returns.tolist()


def test_mean_mdp_does_not_explore():
    planner = pl.MeanMdp(pl.make_model("rocksample-4-4"))
    planner.reset()
    decision = planner.decide()
    assert decision.name == "east" and decision.solution.bonus_part.tolist() == [0.0] * len(decision.solution.q)


def test_beta_defaults_to_the_models_own():
    assert pl.PomdpLite(pl.Tiger()).beta == 30.0


@pytest.mark.parametrize("beta", [-1.0, float("nan"), float("inf"), "much"])
def test_an_invalid_beta_is_refused(beta):
    with pytest.raises(pl.UsageError, match="beta must be"):
        pl.PomdpLite(pl.Tiger(), beta=beta)


def test_a_state_outside_the_model_is_planned_from():
    """A world other than the model may lead to states that the model never reaches."""
    planner = pl.PomdpLite(pl.tabular(
        {("a", "go"): "over", ("b", "go"): "over", ("over", "go"): "over"},
        {("a", "go"): 1.0, ("b", "go"): 2.0, ("b", "yes", "go"): 4.0},
        discount=0.9, states=("a", "b", "over"), hidden=("no", "yes"), actions=("go",), terminal=("over",),
    ))  # fmt: skip
    planner.reset()
    assert planner.decide().value == 1.0
    planner.recover({"state": "b"})
    assert planner.decide().value == 3.0


def test_mistakes_in_the_use_of_a_planner_are_explained():
    planner = pl.PomdpLite(pl.Tiger())
    for call in (planner.decide, lambda: planner.update("listen", (0,), None), lambda: planner.state):
        with pytest.raises(pl.UsageError, match=r"call reset\(\) first"):
            call()
    planner.reset()
    for arguments, words in (
        ((None, (0,), None), "unknown action None"),
        (("knock", (0,), None), "unknown action 'knock'"),
        (("listen", (0, 1), None), "a state has the fields opened"),
        (("listen", {"opened": "ajar"}, None), "'ajar' is not a value"),
        (("listen", {"opened": 0.5}, None), "0.5 is not a value"),
        (("listen", {"opened": 0}, "hear-nothing"), "unknown observation 'hear-nothing'"),
    ):
        with pytest.raises(pl.UsageError, match=words):
            planner.update(*arguments)
    planner.update("listen", {"opened": "none"}, "hear-left")  # a labelled field by its name
    for wrong in ("tiger", pl.Tiger):
        with pytest.raises(pl.UsageError, match="model object"):
            pl.PomdpLite(wrong)
    with pytest.raises(pl.UsageError, match="a problem's name or a model object"):
        pl.evaluate(pl.Tiger)
    with pytest.raises(pl.UsageError, match="a planner's name or a planner object"):
        pl.evaluate(pl.Tiger(), pl.PomdpLite)


def test_the_evaluation_reports_an_incomplete_search():
    result = pl.evaluate(pl.RockSample(3, [(0, 2), (2, 0), (1, 1)]), "bayes-optimal", episodes=2, nodes=200)
    ((note, count),) = result.notes.items()
    assert "the search did not close" in note and count == 2


def test_what_happened_can_be_given_as_record_dictionary_tuple_or_names():
    model, beliefs = pl.Tiger(), []
    forms = (model.initial_state(), {"opened": "none"}, (0,), ("none",))
    for y in forms:
        for a, o in (("listen", "hear-left"), (0, 0)):
            planner = pl.PomdpLite(model)
            planner.reset()
            planner.update(a, y, o)
            beliefs.append(planner.belief.marginals()[0].tolist())
    assert all(b == beliefs[0] for b in beliefs) and beliefs[0] != [0.5, 0.5]


@pytest.mark.parametrize("name", ["pomdp-lite", "pomcp"])
def test_a_planner_recovers_in_a_state_given_as_dictionary(name):
    model = pl.make_model("rocksample-4-4")
    planner = pl.make_planner(name, model, sims=20)
    with pytest.raises(pl.UsageError, match=r"call reset\(\) first"):
        planner.recover({"col": 2, "row": 1})
    planner.reset()
    planner.recover({"col": 2, "row": 1})
    assert (planner.state.col, planner.state.row) == (2, 1)
    planner.decide()


def test_a_decision_knows_its_actions():
    planner = pl.PomdpLite(pl.Tiger())
    planner.reset()
    decision = planner.decide()
    assert decision.name == "listen" and decision.value == decision.solution.q.max()
    rows = decision.table()
    assert [row.q for row in rows] == sorted((row.q for row in rows), reverse=True)
    assert {row.name for row in rows} == set(pl.Tiger().actions) and rows[0].name == decision.name
