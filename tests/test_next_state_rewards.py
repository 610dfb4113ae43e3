"""Rewards that depend on the next state: the library takes their expectation."""

import numpy as np
import pytest

import pomdplite as pl


class Hop(pl.Model):
    """A hop that may slip; landing on a stone pays, and stones differ."""

    state = pl.State(place=int)
    hidden = pl.Hidden(slip=(0.1, 0.6))
    actions = ("hop", "rest")
    observations = ("dry", "wet")
    discount = 0.9
    next_states = 3
    stones = np.array([0.0, 1.0, -2.0, 5.0, 3.0])

    def transition(m, x, theta, a, y, p):
        p[0] = 1.0
        if a == 0:
            y[0].place = min(x.place + 1, 4)
            y[1].place = min(x.place + 2, 4)
            p[0], p[1], p[2] = 1.0 - theta.slip, 0.75 * theta.slip, 0.25 * theta.slip

    def observation(m, y, theta, a, z):
        z[1] = theta.slip
        z[0] = 1.0 - z[1]

    def reward(m, x, theta, a, y):
        return m.stones[y.place] - 0.5 * x.place - 0.25 * a

    def terminal(m, x):
        return x.place == 4


class ByHand(Hop):
    """The same with the expectation written out."""

    def reward(m, x, theta, a):
        if a == 1:
            return m.stones[x.place] - 0.5 * x.place - 0.25
        mean = (1.0 - theta.slip) * m.stones[min(x.place + 1, 4)]
        mean += 0.75 * theta.slip * m.stones[min(x.place + 2, 4)] + 0.25 * theta.slip * m.stones[x.place]
        return mean - 0.5 * x.place


@pytest.mark.parametrize("compiled", [True, False])
def test_the_reward_is_the_expectation_over_the_next_states(compiled):
    given, by_hand = (type(kind.__name__, (kind,), {"compiled": compiled})() for kind in (Hop, ByHand))
    assert pl.check_model(given).ok
    beliefs = [pl.initial_belief(model) for model in (given, by_hand)]
    for place in range(4):
        for a in range(2):
            mean, expected = (belief.mean_reward({"place": place}, a) for belief in beliefs)
            assert mean == pytest.approx(expected, abs=1e-12)


def test_planners_and_worlds_use_it():
    values = []
    for model in (Hop(), ByHand()):
        planner = pl.PomdpLite(model, beta=0.5)
        planner.reset()
        values.append([planner.decide().value, pl.evaluate(model, "pomdp-lite", episodes=5, seed=2, beta=0.5).mean])
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_a_fifth_argument_must_be_called_y():
    def reward(m, x, theta, a, after):
        return 0.0

    with pytest.raises(
        pl.ModelError, match=r"reward must take \(m, x, theta, a\), but takes \(m, x, theta, a, after\)"
    ):
        type("Odd", (Hop,), {"reward": reward})().compiled_form  # noqa: B018
