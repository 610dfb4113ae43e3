"""POMCPOW and PFT-DPW: known values, brute force, and the parts that they are made of."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from known_values import TIGER_VALUE
from models import comes_close, tables
from real_models import Compass, Counter, RealLightDark

import pomdplite as pl
from pomdplite.mdp.budget import NO_DEADLINE
from pomdplite.planners.monte_carlo.leaves import FULL_INFORMATION, HEURISTIC, ROLLOUTS, leaf_values

KINDS = (pl.Pomcpow, pl.PftDpw)


class TigerWithReadings(pl.Tiger):
    """One-shot Tiger whose hearings are a reading: 1 is "left"; it is right 85 % of the time."""

    observations = pl.Reading(heard=int, noise=1)

    def observation(m, y, theta, a, z, u):
        right = u[0] < 1.0364333894937898  # the 85 % quantile of a standard normal number
        if a == 0:
            z.heard = 1 if right == (theta.tiger == 0) else 2

    def likelihood(m, y, theta, a, z):
        if a != 0:
            return 1.0 if z.heard == 0 else 0.0
        if z.heard != 1 and z.heard != 2:
            return 0.0
        return 0.85 if (z.heard == 1) == (theta.tiger == 0) else 0.15


class Guess(pl.Model):
    """Guess the sign of θ = ±1 after one reading of it with standard normal noise."""

    state = pl.State(t=int)
    hidden = pl.Hidden(theta=(-1, 1))
    actions = ("look", "minus", "plus")
    observations = pl.Reading(z=float)
    discount = 1.0
    horizon = 2

    def transition(m, x, theta, a, y):
        y.t = x.t + 1 if a == 0 else 2

    def observation(m, y, theta, a, z, sd):
        if a == 0:
            z.z = theta.theta
            sd.z = 1.0

    def reward(m, x, theta, a):
        if a == 0:
            return 0.0
        return 1.0 if (a == 2) == (theta.theta > 0) else 0.0

    def terminal(m, x):
        return x.t == 2


@pytest.mark.parametrize("kind", KINDS)
def test_tiger_is_worth_what_it_is_less_the_cost_of_exploring(kind):
    planner = kind(pl.Tiger(), sims=400_000, exploration=40.0)
    planner.reset(1)
    assert TIGER_VALUE[0.95] - 1.0 < planner.decide().value < TIGER_VALUE[0.95] + 0.1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [pl.Tiger, TigerWithReadings])
def test_tiger_is_listened_to_until_one_side_leads_by_three(kind, model):
    """Whether the hearings are listed or a reading."""
    planner = kind(model(), sims=60_000, exploration=40.0)
    planner.reset(1)
    for lead in range(3):
        assert lead == 2 or planner.decide().name == "listen"  # at a lead of 2 listening is better by only 0.3
        planner.update("listen", planner.state, 1 if model is TigerWithReadings else "hear-left")
    assert planner.decide().name == "open-right"


@pytest.mark.parametrize("kind", KINDS)
def test_a_reading_is_worth_what_it_tells(kind):
    """After one look a guess is right with probability Φ(1); without, with probability 1/2."""
    planner = kind(Guess(), sims=50_000, exploration=0.5, k_observation=100.0, alpha_observation=0.1)
    planner.reset(3)
    found = {row.name: row.q for row in planner.decide().table()}
    assert abs(found["look"] - 0.5 * math.erfc(-1 / math.sqrt(2))) < 0.03
    assert abs(found["plus"] - 0.5) < 0.2 and abs(found["minus"] - 0.5) < 0.2


@settings(max_examples=10, deadline=None)
@given(tables(layered=True))
def test_with_ample_budget_both_come_close_to_bayes_optimal(m):
    for kind in KINDS:
        comes_close(kind, m, 30_000)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(tables(layered=True))
def test_with_ample_budget_both_come_close_to_bayes_optimal_on_many_models(m):
    for kind in KINDS:
        comes_close(kind, m, 30_000)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [RealLightDark, Compass, Counter])
def test_models_with_real_numbers_give_the_same_decisions_for_the_same_seed(kind, model):
    def decided(seed):
        planner, world = kind(model(), sims=300), pl.ModelWorld(model())
        world.reset(1, 0)
        planner.reset(seed)
        found = []
        for _ in range(3):
            decision = planner.decide()
            found.append(decision.solution.q)
            result = world.step(0)
            planner.update(0, result.y, result.o)
        return np.array(found)

    np.testing.assert_array_equal(decided(5), decided(5))
    assert not np.array_equal(decided(5), decided(6))


@pytest.mark.parametrize("kind", KINDS)
def test_widening_limits_the_outcomes_of_an_action(kind):
    planner = kind(RealLightDark(), sims=3000, k_observation=2.0, alpha_observation=0.0)
    planner.reset(1)
    planner.decide()
    wide = planner._tree.wide
    pairs = int(wide.nodes.counts[1])
    assert wide.children[:pairs].max() == 3
    assert (wide.drawn[:pairs] >= wide.children[:pairs]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_widening_considers_few_actions_of_a_node_with_few_visits(kind):
    model = pl.make_model("battleship-5-2")
    planner = kind(model, sims=100, k_action=1.0, alpha_action=0.5)
    planner.reset(1)
    solution = planner.decide().solution
    tried = int((solution.visits > 0).sum())
    assert 8 <= tried <= 11  # of 25: √100 + 1
    assert np.isfinite(solution.q).sum() == tried


class Listener(pl.Tiger):
    """Tiger with a preference for listening."""

    def preferred(m, x, h, f):
        f[0] = 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_preferred_actions_have_a_head_start(kind):
    for sims, others in ((10, False), (13, True)):
        planner = kind(Listener(), sims=sims)
        planner.reset(1)
        assert (planner.decide().solution.visits[1:] > 0).any() == others


def test_leaves_are_valued_by_what_the_model_offers():
    for model, wanted, kind in (
        (pl.make_model("rocksample-4-4"), "auto", ROLLOUTS),  # it says which actions rollouts should prefer
        (pl.Tiger(), "auto", FULL_INFORMATION),
        (RealLightDark(), "auto", FULL_INFORMATION),
        (pl.make_model("battleship-5-2"), "full-information", FULL_INFORMATION),  # its function upper
        (pl.LightDark(), "heuristic", HEURISTIC),
        (pl.Tiger(), "rollouts", ROLLOUTS),
        (Compass(), "auto", ROLLOUTS),  # noise in its steps, and no hints
    ):
        assert leaf_values(model, wanted, NO_DEADLINE).kind == kind, (model.name, wanted)
    for model, wanted, why in (
        (Guess(), "heuristic", "it has no heuristic"),
        (Compass(), "full-information", "no function upper"),
    ):
        with pytest.raises(pl.UnsuitableError, match=why):
            leaf_values(model, wanted, NO_DEADLINE)
    with pytest.raises(pl.UsageError, match="no way 'best' to value leaves; there are auto, full-information"):
        pl.Pomcp(pl.Tiger(), leaves="best")


def test_pomcp_with_full_information_outperforms_random_rollouts_where_stopping_early_is_costly():
    """Light-Dark: a random rollout soon stops somewhere, for −100."""

    class NoHints(pl.LightDarkBins):
        policy = pl.Model.policy
        heuristic = pl.Model.heuristic

    model = NoHints()
    informed, random = (
        pl.evaluate(model, pl.PomcpExact(model, sims=500, leaves=leaves), 60, 1000)
        for leaves in ("full-information", "rollouts")
    )
    gap = informed.difference(random)
    assert gap.mean > 3 * gap.stderr


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"k_observation": 0.0}, "k_observation must be positive, not 0.0"),
        ({"alpha_observation": -1.0}, "alpha_observation must be at least 0"),
        ({"k_action": math.inf}, "k_action must be positive"),
        ({"exploration": math.nan}, "exploration must be at least 0"),
        ({"search_depth": 0}, "search_depth must be at least 1"),
        ({"particles": 1}, "particles must be at least 2"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(kind, parameters, why):
    with pytest.raises(pl.UsageError, match=why):
        kind(pl.Tiger(), **parameters)


def test_a_belief_of_one_particle_is_refused():
    with pytest.raises(pl.UsageError, match="m must be at least 2, not 1"):
        pl.PftDpw(pl.Tiger(), m=1)
