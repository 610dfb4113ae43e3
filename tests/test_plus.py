"""POMDP-lite plus: what it promises, what it earns, and what it does where Θ is too large."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from known_values import TIGER_VALUE
from models import best_value, start, tables

import pomdplite as pl
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import momdp_form
from pomdplite.planners.plus.lite_paths import LitePaths
from pomdplite.planners.plus.rest import promises
from pomdplite.planners.point_based.grouped_momdp import group_outcomes
from pomdplite.planners.point_based.merging import outcome_rows


def prepared(model, **parameters):
    planner = pl.PomdpLitePlus(model, **{"sims": 5, "solve_trials": 50, **parameters})
    planner.reset()
    return planner


@pytest.mark.parametrize("discount", [0.95, 0.99])
def test_on_tiger_it_is_optimal(discount):
    planner = prepared(pl.Tiger(discount=discount), solve_trials=200)
    lower, upper = planner.value_bounds
    assert lower == pytest.approx(TIGER_VALUE[discount], abs=2e-3) and upper - lower < 2e-3


@settings(max_examples=15, deadline=None)
@given(tables(layered=True))
def test_the_bounds_contain_the_value_found_by_recursion(m):
    planner = prepared(m.model())
    lower, upper = planner.decide().bounds
    best = best_value(m, start(m), 0)
    assert lower - 1e-9 <= best <= upper + 1e-9


def test_search_in_a_step_raises_the_lower_bound_of_a_poor_solution():
    model = pl.make_model("rocksample-4-4")
    few, more = (prepared(model, solve_trials=3, sims=sims).decide().bounds for sims in (1, 200))
    assert more[0] > few[0] + 1


def test_episodes_do_not_depend_on_each_other():
    model = pl.make_model("rocksample-4-4")
    planner = pl.PomdpLitePlus(model, sims=10, solve_trials=10)
    one = pl.evaluate(model, planner, 4, 7).returns
    again = pl.evaluate(model, planner, 4, 7).returns  # after four other episodes
    copied = pickle.loads(pickle.dumps(planner))
    copy = pl.evaluate(copied.model, copied, 4, 7).returns
    assert one.tolist() == again.tolist() == copy.tolist()


def test_a_copy_does_not_solve_again(monkeypatch):
    planner = prepared(pl.make_model("rocksample-4-4"))
    copy = pickle.loads(pickle.dumps(planner))
    monkeypatch.setattr("pomdplite.planners.plus.solver.PlusSolver.solve", None)
    copy.reset()
    assert copy.value_bounds == planner.value_bounds and copy.decide().action == planner.decide().action


def test_more_work_never_lowers_the_lower_bound():
    model = pl.make_model("rocksample-4-4")
    bounds = [prepared(model, solve_trials=trials).value_bounds for trials in (5, 20, 80)]
    assert bounds[0][0] <= bounds[1][0] <= bounds[2][0] and bounds[0][1] >= bounds[1][1] >= bounds[2][1]


def test_solving_ends_by_itself_when_nothing_is_gained(monkeypatch):
    reports = []
    planner = pl.PomdpLitePlus(pl.make_model("rocksample-4-4"), solve_time=1e6, precision=1e-12)
    planner.progress = reports.append
    planner.prepare()
    assert reports[-1].upper - reports[-1].lower > 1e-12


def test_the_return_is_at_least_the_lower_bound():
    model = pl.make_model("rocksample-4-4")
    planner = pl.PomdpLitePlus(model, sims=5, solve_trials=300)
    result = pl.evaluate(model, planner, 300, 5)
    assert result.mean > planner.value_bounds[0] - 3 * result.stderr


def test_paths_of_pomdp_lite_help_where_its_own_lead_nowhere(monkeypatch):
    model, found = pl.make_model("rocksample-7-8"), []
    for least in (0, 10**9):  # new nodes before POMDP-lite is asked for paths
        monkeypatch.setattr("pomdplite.planners.plus.solver._LEAST", least)
        found.append(prepared(model, solve_trials=8).value_bounds[0])
    assert found[0] > found[1] + 1


def test_paths_of_pomdp_lite_are_the_same_every_time():
    planner = pl.PomdpLitePlus(pl.make_model("rocksample-4-4"))
    one, other = LitePaths(planner), LitePaths(planner)
    for number in range(5):
        first, second = one.path(number), other.path(number)
        assert [v.x.tobytes() for v in first] == [v.x.tobytes() for v in second]
        assert [v.b.tobytes() for v in first] == [v.b.tobytes() for v in second]


def test_a_model_with_fewer_components_is_that_model_without_them():
    model = pl.make_model("rocksample-4-4")
    kept = (0, 2)
    less = pl.RockSample(model.size, [tuple(model.rocks[rock]) for rock in kept])
    forms = momdp_form(model, components=kept), momdp_form(less)
    values = []
    for form in forms:
        root = form.reachable.find(form.view.root())
        values.append(full_information_values(form, 0.95)[root])
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9)
    assert forms[0].prior.tolist() == forms[1].prior.tolist()


def test_components_are_left_out_where_there_are_too_many(monkeypatch, tmp_path):
    monkeypatch.setattr("pomdplite.planners.plus.planner._MOST_VALUES", 1000)  # 101 states with 16 joint values
    monkeypatch.setattr("pomdplite.planners.plus.planner._ENOUGH_VALUES", 1000)
    model = pl.RockSample(10, [(1, 0), (0, 9), (2, 0), (3, 0)], start=(0, 0), good=4.0)  # one is too far away
    planner = pl.PomdpLitePlus(model, sims=5, solve_trials=200)
    earned = pl.evaluate(model, planner, 100, 5)
    planner.reset()
    assert planner.stand_in is None and planner.value_bounds is None and planner.decide().bounds is None
    assert "over 3 of the 4 components of θ" in planner.choices[0]
    assert planner.momdp.components == (0, 2, 3)
    assert "check-1" not in {model.actions[a] for a in planner.decide().solution.actions}
    assert earned.mean > planner._parts[0].bounds[0] - 3 * earned.stderr
    planner.save(tmp_path / "planner.npz")
    copy = pl.load_planner(tmp_path / "planner.npz", model)
    assert pl.evaluate(model, copy, 5, 6).returns.tolist() == pl.evaluate(model, planner, 5, 6).returns.tolist()


def in_two_parts(monkeypatch, model, parts=2):
    """A planner that has room for two rocks of four, and for two more later."""
    limits = {"_MOST_VALUES": 200, "_ENOUGH_VALUES": 17 * 4, "_ENOUGH_SHARE": 0.0, "_SMALLER": 1}
    for name, limit in limits.items():
        monkeypatch.setattr(f"pomdplite.planners.plus.planner.{name}", limit)
    monkeypatch.setattr(LitePaths, "earned", -np.inf)  # however little it earns, do not leave it to POMDP-lite
    planner = pl.PomdpLitePlus(model, sims=10, solve_trials=200)
    planner.prepare()
    assert planner.stand_in is None and [len(part.components) for part in planner._parts] == [2] * parts
    return planner


def test_what_is_left_out_at_first_is_planned_for_later(monkeypatch):
    model = pl.make_model("rocksample-4-4")
    best = pl.Sarsop(model, solve_trials=300)
    best.prepare()
    planner = in_two_parts(monkeypatch, model)
    first = planner._parts[0]
    two_rocks = pl.Sarsop(
        pl.RockSample(model.size, [tuple(model.rocks[rock]) for rock in first.components]), solve_trials=300
    )
    two_rocks.prepare()
    promised = first.bounds[0]
    assert two_rocks.value_bounds[1] + 0.5 < promised <= best.value_bounds[1]
    result = pl.evaluate(model, planner, 300, 5)
    assert result.mean > promised - 3 * result.stderr  # switching to the second part keeps what it has promised


def test_promises_are_mean_values_over_what_the_first_part_does_not_know(monkeypatch):
    planner = in_two_parts(monkeypatch, pl.make_model("rocksample-4-4"))
    first, rest = planner._parts
    found = promises(rest, first)
    assert {promise.state for promise in found} == set(range(1, 17))
    for promise in found:
        here = rest.vectors.value[rest.vectors.state == promise.state]
        means = here @ rest.momdp.prior  # no rock is in both parts
        assert promise.value == pytest.approx(np.full(4, means.max()))


def test_episodes_with_two_parts_do_not_depend_on_each_other(monkeypatch, tmp_path):
    model = pl.make_model("rocksample-4-4")
    planner = in_two_parts(monkeypatch, model)
    one, again = (pl.evaluate(model, planner, 6, 7).returns.tolist() for _ in range(2))
    planner.save(tmp_path / "planner.npz")
    copies = pl.load_planner(tmp_path / "planner.npz", model), pickle.loads(pickle.dumps(planner))
    assert [one, one, one] == [again, *(pl.evaluate(copy.model, copy, 6, 7).returns.tolist() for copy in copies)]
    computed = planner._computed() | {"own": np.array(10**6)}
    damaged = pl.PomdpLitePlus(model, sims=10, solve_trials=200)
    damaged.use_computed(computed, "the file")
    with pytest.raises(pl.UsageError, match=r"the file is damaged: it has \d+ α-vectors, of which 1000000 are"):
        damaged.prepare()


def test_ctrl_c_ends_solving_with_the_first_part_alone(monkeypatch):
    def press(solver):
        raise KeyboardInterrupt

    model = pl.make_model("rocksample-4-4")
    monkeypatch.setattr("pomdplite.planners.plus.solver.PlusSolver.ending", press)
    planner = in_two_parts(monkeypatch, model, parts=1)
    assert planner.choices[0].endswith("α-vectors over 2 of the 4 components of θ, those that matter most")
    assert pl.evaluate(model, planner, 5, 5).mean > 0


@pytest.mark.parametrize("share", [0.85, 0.0])
def test_no_component_is_left_out_if_that_costs_more_than_it_earns(monkeypatch, share):
    monkeypatch.setattr("pomdplite.planners.plus.planner._MOST_VALUES", 200)
    monkeypatch.setattr("pomdplite.planners.plus.planner._ENOUGH_VALUES", 40)  # enough for one rock of four
    monkeypatch.setattr("pomdplite.planners.plus.planner._ENOUGH_SHARE", share)
    planner = pl.PomdpLitePlus(pl.make_model("rocksample-4-4"), sims=5, solve_trials=200)
    planner.prepare()
    assert planner.stand_in == "pomdp-lite"
    assert ("leaving out 3 components" in planner.choices[0]) == (share == 0.0)


def test_where_theta_cannot_be_listed_it_is_pomdp_lite():
    model = pl.make_model("battleship-5-2")
    plus, lite = pl.PomdpLitePlus(model, sims=50), pl.PomdpLite(model, sims=50)
    plus.prepare()
    assert plus.stand_in == "pomdp-lite" and plus.value_bounds is None
    assert plus.choices[0].startswith("decides as pomdp-lite, since ")
    for planner in (plus, lite):
        planner.reset(3)
    for _ in range(3):
        ours, theirs = plus.decide(), lite.decide()
        assert ours.action == theirs.action and ours.solution.q.tolist() == theirs.solution.q.tolist()
        for planner in (plus, lite):
            planner._advance(ours.action, *planner._likely_outcome(ours.action))


def test_an_unreachable_state_is_refused_in_words():
    planner = prepared(pl.make_model("rocksample-4-4"))
    planner.update("east", {"col": 1, "row": 2}, None)
    planner.recover({"col": 9, "row": 9})
    with pytest.raises(pl.UnsuitableError, match=r"col=9 row=9.* cannot be reached in the model, so pomdp-lite-plus"):
        planner.decide()


@pytest.mark.parametrize("wrong", [{"precision": 0.0}, {"memory": -1.0}, {"solve_trials": 0}, {"time": 1.0, "sims": 1}])
def test_invalid_parameters_are_refused(wrong):
    with pytest.raises(pl.UsageError, match=next(iter(wrong))):
        pl.PomdpLitePlus(pl.Tiger(), **wrong)


# ---------------------------------------------------------------------- merging outcomes that are alike


def test_merging_keeps_probabilities_and_separates_what_differs():
    momdp = momdp_form(pl.LightDarkBins())
    distinct = momdp.reachable.distinct
    whole, merged = (outcome_rows(distinct, momdp.joint.size, merge) for merge in (False, True))
    for step in range(len(whole.first) - 1):
        size = int(momdp.joint.size[distinct.component[step]])
        total, fewer = (
            sum(rows.pool[at : at + size] for at in rows.likelihood[rows.first[step] : rows.first[step + 1]])
            for rows in (whole, merged)
        )
        assert np.allclose(total, fewer)
    counts = np.diff(merged.first)[np.diff(whole.first) > 100]
    assert (counts < 60).all() and (counts > 5).all()


class WeakEvidence(pl.Model):
    """Ten readings that hardly depend on θ: only many of them together tell."""

    state = pl.State(over=bool)
    hidden = pl.Hidden(side=("left", "right"))
    actions = ("look", "left", "right")
    observations = tuple(str(i) for i in range(10))
    discount = 0.99
    horizon = 400

    def transition(m, x, theta, a, y):
        y.over = a > 0

    def observation(m, y, theta, a, z):
        if a == 0:
            for i in range(10):
                z[i] = 0.2 * (0.56 if (i % 2 == 0) == (theta.side == 0) else 0.44)

    def reward(m, x, theta, a):
        return 0.0 if a == 0 else (10.0 if a - 1 == theta.side else -10.0)

    def terminal(m, x):
        return x.over


def test_weak_evidence_is_not_merged_away():
    planner = prepared(WeakEvidence(), solve_trials=100)
    assert planner.value_bounds[0] > 2  # without evidence it is 0


def test_merging_costs_little_and_promises_no_more():
    model = pl.LightDarkBins()
    momdp = momdp_form(model)
    corner = full_information_values(momdp, model.discount)
    outcomes = [len(group_outcomes(momdp, corner, model.discount, merge=merge).pair) for merge in (False, True)]
    assert outcomes[1] < outcomes[0] / 3
    planner = prepared(model, solve_trials=100)
    result = pl.evaluate(model, planner, 40, 1)
    planner.reset()
    known = float(momdp.prior @ corner[momdp.reachable.find(momdp.view.root())])
    assert planner.value_bounds[1] == pytest.approx(known) == planner.decide().bounds[1]  # V̄ is not that of merged ones
    assert planner.value_bounds[0] > 0 and result.mean > planner.value_bounds[0] - 3 * result.stderr
