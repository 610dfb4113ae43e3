import numpy as np
import pytest
from hypothesis import given, settings
from models import best_value, start, tables

import pomdplite as pl


def bayes_value(model: pl.Model) -> float:
    planner = pl.BayesOptimal(model, nodes=20_000)
    planner.reset()
    decision = planner.decide()
    low, high = decision.bounds
    assert high - low < 1e-9
    return decision.value


@settings(max_examples=60, deadline=None)
@given(tables(layered=True))
def test_theorem_1_keeps_the_value(m):
    """The POMDP solved by plain recursion over beliefs, the model, and the POMDP-lite made from its set of MDPs agree."""
    expected = best_value(m, start(m), 0)
    model = m.model()
    mdps = pl.to_mdps(model)
    assert abs(bayes_value(model) - expected) < 1e-9
    assert abs(bayes_value(pl.from_mdps(mdps)) - expected) < 1e-9


@settings(max_examples=40, deadline=None)
@given(tables())
def test_every_mdp_is_a_proper_mdp(m):
    mdps = pl.to_mdps(m.model())
    sums = mdps.transition.sum(axis=-1)
    legal = mdps.legal.copy()
    legal[0] = True  # END
    np.testing.assert_allclose(sums[:, legal], 1.0, atol=1e-9)
    assert np.all(sums[:, ~legal] == 0)
    np.testing.assert_allclose(mdps.prior, m.prior)


def test_tiger_gives_the_two_mdps_of_figure_1():
    mdps = pl.to_mdps(pl.Tiger())
    assert mdps.states == ("END", "(opened=none; –)", "(opened=none; hear-left)", "(opened=none; hear-right)")
    null, left, right = 1, 2, 3
    for s in (null, left, right):
        np.testing.assert_allclose(mdps.transition[0, s, 0, [left, right]], [0.85, 0.15])
        np.testing.assert_allclose(mdps.transition[1, s, 0, [left, right]], [0.15, 0.85])
        assert mdps.reward[:, s].tolist() == [[-1, -100, 10], [-1, 10, -100]]
        assert mdps.transition[:, s, 1:, 0].min() == 1.0


def test_changing_theta_is_carried_by_the_state():
    """RockSample on 2 × 2 with one rock: sampling makes the rock bad, so the second sample is worth -10 in every MDP."""
    mdps = pl.to_mdps(pl.RockSample(2, [(0, 1)]))
    sample = mdps.actions.index("sample")
    assert mdps.reward[:, mdps.start, sample].tolist() == [-10.0, 10.0]
    after = int(mdps.transition[0, mdps.start, sample].argmax())
    assert after != mdps.start and mdps.reward[:, after, sample].tolist() == [-10.0, -10.0]


def test_mdps_that_do_not_share_states_are_refused():
    mdps = pl.to_mdps(pl.Tiger())
    with pytest.raises(pl.ModelError, match="do not share states and actions"):
        pl.from_mdps(pl.MdpSet(mdps.transition[:, :, :, :2], *list(vars(mdps).values())[1:]))
