import numpy as np
import pytest
from known_values import MEAN_MDP_ROCKSAMPLE_7_8

import pomdplite as pl
from pomdplite.experiments.statistics import standard_error


def test_workers_change_nothing():
    alone, shared = (pl.evaluate("rocksample-4-4", episodes=30, seed=3, workers=w) for w in (1, 2))
    facts = [
        [(e.index, e.discounted, e.undiscounted, e.steps, e.success) for e in ev.episodes] for ev in (alone, shared)
    ]
    assert facts[0] == facts[1]
    assert (alone.mean, alone.stderr, alone.ci95) == (shared.mean, shared.stderr, shared.ci95)


def test_an_episode_does_not_depend_on_those_before_it():
    many = pl.evaluate("rocksample-7-8", episodes=12, seed=4)
    planner, world = pl.PomdpLite(pl.make_model("rocksample-7-8")), None
    world = pl.ModelWorld(planner.model)
    for index in (11, 3):
        assert pl.run_episode(planner, world, 4, index).discounted == many.episodes[index].discounted


def test_planners_face_the_same_hidden_values_and_noise():
    model = pl.Tiger()
    hidden = []
    for _ in range(2):
        world = pl.ModelWorld(model)
        values = []
        for episode in range(40):
            world.reset(1, episode)
            values.append((int(world.theta.tiger), world.step(0).o, world.step(0).o))
        hidden.append(values)
    assert hidden[0] == hidden[1] and len(set(hidden[0])) > 4
    share = np.mean([v[0] for v in hidden[0]])
    assert 0.2 < share < 0.8


def test_mean_and_interval_are_those_of_the_returns():
    result = pl.evaluate("tiger", episodes=200, seed=9)
    assert result.mean == pytest.approx(result.returns.mean())
    assert result.stderr == pytest.approx(result.returns.std(ddof=1) / np.sqrt(200))
    low, high = result.ci95
    assert high - low == pytest.approx(2 * 1.97196 * result.stderr, rel=1e-4)  # Student's t, 199 degrees of freedom
    assert result.success_rate == np.mean([e.undiscounted > -50 for e in result.episodes])
    assert result.steps_mean >= 4 and result.seconds_per_step > 0


def test_differences_are_paired():
    one, two = (pl.evaluate("rocksample-4-4", name, episodes=60, seed=2) for name in ("pomdp-lite", "mean-mdp"))
    gap = one.difference(two)
    assert gap.mean == pytest.approx(one.mean - two.mean) and gap.episodes == 60
    assert gap.stderr == pytest.approx(standard_error(one.returns - two.returns))
    assert gap.mean > 5 * gap.stderr  # exploring pays
    with pytest.raises(pl.UsageError, match="same seed and episodes"):
        one.difference(pl.evaluate("rocksample-4-4", "mean-mdp", episodes=60, seed=3))


def test_mean_mdp_leaves_rocksample_at_once():
    result = pl.evaluate("rocksample-7-8", "mean-mdp", episodes=20)
    assert result.returns == pytest.approx([MEAN_MDP_ROCKSAMPLE_7_8] * 20)


def test_rocksample_7_8_is_in_the_range_of_the_best_planners():
    """The paper reports 21.03 ± 0.21 for POMDP-lite and 21.47 for SARSOP; three standard errors around 21.2."""
    result = pl.evaluate("rocksample-7-8", episodes=300, seed=11)
    assert abs(result.mean - 21.2) < 3 * result.stderr
    assert result.cut == 0


def test_an_episode_is_truncated_at_the_horizon():
    class Patient(pl.Tiger):
        horizon = 2

    result = pl.evaluate(Patient(), episodes=5, beta=100.0)
    assert result.cut == 5 and result.steps_mean == 2 and result.success_rate == 0.0
    steps = []
    planner = pl.PomdpLite(Patient(), beta=100.0)
    pl.run_episode(planner, pl.ModelWorld(planner.model), 0, 0, steps.append)
    assert [(s.terminated, s.truncated) for s in steps] == [(False, False), (False, True)]


class Interrupting(pl.ProgressListener):
    """Raises Ctrl-C after so many episodes."""

    def __init__(self, after):
        self.after, self.count = after, 0

    def played(self, cell, episodes):
        self.count += len(episodes)
        if self.count >= self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("workers", [1, 2])
def test_an_interrupted_evaluation_carries_what_was_finished(workers):
    with pytest.raises(pl.EvaluationInterrupted) as stop:
        pl.evaluate("tiger", "qmdp", 2000, seed=5, workers=workers, listener=Interrupting(7))
    partial = stop.value.evaluation
    assert isinstance(stop.value, KeyboardInterrupt) and 7 <= len(partial.episodes) < 2000
    assert partial.cell.episodes == 2000 and (partial.problem, partial.planner) == ("tiger", "qmdp")
    whole = pl.evaluate("tiger", "qmdp", 2000, seed=5)
    assert [e.discounted for e in partial.episodes] == [whole.episodes[e.index].discounted for e in partial.episodes]
    assert [e.index for e in partial.episodes] == sorted(e.index for e in partial.episodes)


def test_a_planner_is_prepared_once(monkeypatch):
    calls = []
    prepare = pl.Qmdp._prepare
    monkeypatch.setattr(pl.Qmdp, "_prepare", lambda self: (calls.append("prepare"), prepare(self)))

    class Order(pl.ProgressListener):
        def preparing(self, cell, planner):
            calls.append("preparing")

        def playing(self, cell, stored):
            calls.append("playing")

        def finished(self, cell):
            calls.append("finished")

    pl.evaluate("tiger", "qmdp", 3, listener=Order())
    assert calls == ["preparing", "prepare", "playing", "finished"]


def test_invalid_requests_are_refused():
    with pytest.raises(pl.UsageError, match="at least 1"):
        pl.evaluate("tiger", episodes=0)
    with pytest.raises(pl.UsageError, match="no planner 'oracle'"):
        pl.evaluate("tiger", "oracle")
    with pytest.raises(pl.UsageError, match="mean-mdp has no parameter 'beta'"):
        pl.evaluate("tiger", "mean-mdp", beta=1.0)
    model = pl.Tiger()
    with pytest.raises(pl.UsageError, match="different model object"):
        pl.evaluate(pl.Tiger(), pl.PomdpLite(model))
    with pytest.raises(pl.UsageError, match="made for Tiger, not for rocksample-4-4"):
        pl.evaluate("rocksample-4-4", pl.PomdpLite(model))
    with pytest.raises(pl.UsageError, match="no problem 'tigger'"):
        pl.evaluate("tigger", pl.PomdpLite(model))


def test_an_error_in_a_worker_reaches_the_caller():
    class Faulty(pl.Tiger):
        compiled = False

        def success(self, x, theta):
            raise pl.ModelError("the judge is out")

    with pytest.raises(pl.ModelError, match="the judge is out"):
        pl.evaluate(Faulty(), episodes=8, workers=2)
