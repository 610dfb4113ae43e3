"""SARSOP: its bounds against known and independently computed values, its files, its memory, Ctrl-C."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from known_values import TIGER_VALUE
from models import ChangingParts, FlatChangingParts, FlatParts, Parts, best_value, start, tables

import pomdplite as pl
from pomdplite.experiments import evaluate
from pomdplite.planners.sarsop.planner import Sarsop
from pomdplite.testing import planner_conforms


def solved(model, **parameters):
    planner = Sarsop(model, **parameters)
    planner.reset()
    return planner


@pytest.mark.parametrize("discount", TIGER_VALUE)
def test_the_bounds_of_tiger_close_around_the_known_value(discount):
    low, high = solved(pl.Tiger(discount=discount), solve_trials=20_000).bounds
    assert high - low <= 0.001
    assert low - 0.0006 <= TIGER_VALUE[discount] <= high + 0.0006


@pytest.mark.parametrize("make", [pl.Tiger, lambda: pl.RockSample(2, [(0, 1), (1, 1)])])
def test_it_conforms_to_the_planner_interface(make):
    planner_conforms(Sarsop, make())


@settings(max_examples=200, deadline=None)
@given(tables(layered=True))
def test_the_bounds_contain_the_value_found_by_recursion(m):
    low, high = solved(m.model(), solve_trials=300, precision=1e-6).bounds
    value = best_value(m, start(m), 0)
    assert low - 1e-9 <= value <= high + 1e-9
    assert high - low <= 1e-6


@settings(max_examples=200, deadline=None)
@given(tables())
def test_the_bounds_agree_with_bayes_optimal(m):
    assume(0 not in m.terminal)
    model = m.model()
    low, high = solved(model, solve_trials=20_000, precision=0.01).bounds
    exact = pl.BayesOptimal(model, nodes=20_000)
    exact.reset()
    below, above = exact.decide().bounds
    assert low <= above + 1e-6 and below <= high + 1e-6
    assert high - low <= 0.05


@pytest.mark.parametrize("kind", [(Parts, FlatParts), (ChangingParts, FlatChangingParts)])
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**16), values=st.integers(2, 3))
def test_components_and_their_product_have_overlapping_bounds(kind, seed, values):
    (low, high), (flat_low, flat_high) = (solved(k(seed, values), solve_trials=100).bounds for k in kind)
    assert max(low, flat_low) <= min(high, flat_high) + 1e-6


def test_more_trials_never_loosen_the_bounds():
    bounds, model = [], pl.make_model("rocksample-4-4")
    for trials in (1, 3, 10, 30, 100, 300):
        bounds.append(solved(model, solve_trials=trials).bounds)
    lows, highs = zip(*bounds, strict=True)
    assert list(lows) == sorted(lows) and list(highs) == sorted(highs, reverse=True)


def test_the_same_number_of_trials_gives_the_same_vectors():
    first, second = (solved(pl.make_model("rocksample-4-4"), solve_trials=80) for _ in range(2))
    assert first.vectors.tobytes() == second.vectors.tobytes() and first.bounds == second.bounds


def test_solving_stays_within_little_memory():
    model = pl.make_model("rocksample-4-4")
    low, high = solved(model, solve_trials=400, memory=0.003).bounds
    wide_low, wide_high = solved(model, solve_trials=400).bounds
    assert low <= wide_high and wide_low <= high and low > 10
    with pytest.raises(pl.TooLargeError, match="10 KB"):
        solved(model, memory=1e-5)


def test_the_simulated_return_is_within_the_bounds():
    model = pl.RockSample(3, [(0, 0), (2, 1)])
    planner = solved(model, solve_trials=300)
    low, high = planner.bounds
    result = evaluate(model, planner, episodes=2000, seed=3)
    assert low - 4 * result.stderr <= result.mean <= high + 4 * result.stderr


def test_a_decision_carries_its_bounds():
    planner = solved(pl.Tiger())
    decision = planner.decide()
    low, high = decision.bounds
    assert decision.name == "listen" and low <= decision.value + 1e-9 and high - low < 0.01
    assert "α-vectors" in decision.solution.solver and np.isfinite(decision.solution.q).all()


def test_progress_is_reported_and_ctrl_c_keeps_what_was_found():
    reports, planner = [], Sarsop(pl.make_model("rocksample-7-8"), solve_time=3000)

    def watch(progress):
        reports.append(progress)
        raise KeyboardInterrupt

    planner.progress = watch
    planner.reset()
    (progress,) = reports
    assert planner.bounds == (progress.lower, progress.upper) and progress.trials > 0 and progress.vectors > 0


def test_a_saved_policy_decides_the_same(tmp_path):
    model, path = pl.make_model("rocksample-4-4"), tmp_path / "policy.npz"
    planner = solved(model, solve_trials=60)
    planner.save(path)
    twin = solved(model, policy=str(path))
    assert twin.bounds == planner.bounds and twin.vectors.tobytes() == planner.vectors.tobytes()
    mine, other = (evaluate(model, p, episodes=30, seed=1) for p in (planner, twin))
    assert mine.returns.tolist() == other.returns.tolist()


def test_bad_policy_files_are_refused(tmp_path):
    model, path = pl.Tiger(), tmp_path / "policy.npz"
    solved(model).save(path)
    whole = path.read_bytes()
    for other, words in (
        (pl.make_model("rocksample-4-4"), "another model, with actions .*listen"),
        (pl.Tiger(discount=0.9), "another model, with discount 0.95 instead of 0.9"),
        (pl.Tiger(accuracy=0.8), "another model: probabilities or rewards of Tiger differ"),
    ):
        with pytest.raises(pl.UsageError, match=words):
            solved(other, policy=str(path))
    with pytest.raises(pl.UsageError, match=r"no planner file .*missing\.npz"):
        solved(model, policy=str(tmp_path / "missing.npz"))
    array = tmp_path / "array.npy"
    np.save(array, np.zeros(3))
    for content in (
        array.read_bytes(),
        b"",
        b"nonsense",
        whole[: len(whole) // 2],
        whole[:300] + bytes(40) + whole[340:],
    ):
        path.write_bytes(content)
        with pytest.raises(pl.UsageError, match=r"policy\.npz"):
            solved(model, policy=str(path))


@pytest.mark.parametrize(
    "wrong", [{"solve_time": 0}, {"precision": -1.0}, {"solve_trials": 0}, {"memory": float("nan")}]
)
def test_invalid_parameters_are_refused(wrong):
    with pytest.raises(pl.UsageError, match="must be"):
        Sarsop(pl.Tiger(), **wrong)


@pytest.mark.slow
def test_a_thousand_trials_solve_rocksample_7_8_well():
    model = pl.make_model("rocksample-7-8")
    planner = solved(model, solve_trials=1000)
    low, high = planner.bounds
    assert low >= 21.1
    result = evaluate(model, planner, episodes=1000, seed=7)
    assert low - 4 * result.stderr <= result.mean <= high + 4 * result.stderr


@pytest.mark.slow
def test_four_hundred_trials_solve_rocksample_11_11_well():
    assert solved(pl.make_model("rocksample-11-11"), solve_trials=400).bounds[0] >= 21.0
