import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ChangingParts, FlatChangingParts, FlatParts, Parts, outcomes, start, tables

import pomdplite as pl
from pomdplite import rng


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(0, 2**32 - 1))
def test_update_is_bayes_rule(m, seed):
    """Against the definitions in plain Python, along a random history; static and changing θ."""
    choices = np.random.default_rng(seed)
    model = m.model()
    belief, reference, x = pl.initial_belief(model), start(m), 0
    for _ in range(6):
        if x in m.terminal:
            break
        a = int(choices.choice(np.flatnonzero(m.legal[x])))
        reached = outcomes(m, reference, x, a)
        record = model.state_record((x,))
        mean = sum(p * m.r[x, now, a] for (_, now), p in reference.items())
        assert abs(belief.mean_reward(record, a) - mean) < 1e-9
        chances = {}
        for (y, _), cell in reached.items():
            chances[y] = chances.get(y, 0.0) + sum(cell.values())
        for y, p in belief.mean_transition(record, a):
            assert abs(chances[int(y.state)] - p) < 1e-9
        y, o = list(reached)[choices.integers(len(reached))]
        cell = reached[(y, o)]
        if sum(cell.values()) == 0:
            break
        reference = {k: p / sum(cell.values()) for k, p in cell.items()}
        belief.update(record, a, model.state_record((y,)), o)
        expected = np.zeros(len(m.prior))
        present = np.zeros(len(m.prior))
        for (first, now), p in reference.items():
            expected[first] += p
            present[now] += p
        np.testing.assert_allclose(belief.vector, expected, atol=1e-9)
        np.testing.assert_allclose(belief.marginals()[0], present, atol=1e-9)
        x = y


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_factored_agrees_with_flattened(seed, changing):
    factored, flat = (ChangingParts(seed), FlatChangingParts(seed)) if changing else (Parts(seed), FlatParts(seed))
    one, two = pl.initial_belief(factored), pl.initial_belief(flat)
    assert isinstance(two, pl.CategoricalBelief) and not isinstance(one, pl.CategoricalBelief)
    world = pl.ModelWorld(factored)
    world.reset(seed)
    for t in range(8):
        x, a = world.x, (seed + t) % 3
        assert abs(one.expected_change(x, a) - two.expected_change(x, a)) < 1e-9
        assert abs(one.mean_reward(x, a) - two.mean_reward(x, a)) < 1e-9
        outcome = world.step(a)
        one.update(x, a, world.x, outcome.o)
        two.update(x, a, world.x, outcome.o)
        for mine, other in zip(
            one.initial_marginals() + one.marginals(), two.initial_marginals() + two.marginals(), strict=True
        ):
            np.testing.assert_allclose(mine, other, atol=1e-9)
        assert abs(one.entropy() - two.entropy()) < 1e-9


def test_sound_after_ten_thousand_updates():
    """5,000 hearings of one kind and then 5,001 of the other leave a lead of one; probabilities alone would underflow."""
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    for sound, times in (("hear-left", 5000), ("hear-right", 5001)):
        for _ in range(times):
            belief.update(x, "listen", x, sound)
    np.testing.assert_allclose(belief.vector, [0.15, 0.85], atol=1e-9)
    assert abs(belief.vector.sum() - 1) < 1e-12


def test_an_impossible_observation_is_named_and_leaves_the_belief_as_it_was():
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    with pytest.raises(pl.ImpossibleObservationError, match="observing '–' is impossible after 'listen'"):
        belief.update(x, "listen", x, None)
    with pytest.raises(pl.ImpossibleObservationError, match=r"next state x' = \(opened=left\) is impossible"):
        belief.update(x, "listen", {"opened": 1}, "hear-left")
    np.testing.assert_allclose(belief.vector, [0.5, 0.5])


def test_a_certain_sensor_rules_values_out_for_good():
    model = pl.Tiger(accuracy=1.0)
    belief = pl.initial_belief(model)
    x = model.initial_state()
    belief.update(x, "listen", x, "hear-left")
    assert belief.vector.tolist() == [1.0, 0.0]
    assert belief.entropy() == 0.0
    with pytest.raises(pl.ImpossibleObservationError, match="still possible"):
        belief.update(x, "listen", x, "hear-right")


def test_samples_follow_the_belief():
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    belief.update(x, "listen", x, "hear-left")
    stream = rng.stream(7)
    left = sum(int(belief.sample(stream).tiger) == 0 for _ in range(4000)) / 4000
    assert abs(left - 0.85) < 4 * np.sqrt(0.85 * 0.15 / 4000)


def test_sampling_a_rock_turns_it_bad_and_keeps_the_belief_about_its_first_kind():
    model = pl.RockSample(2, [(0, 1)])
    belief = pl.initial_belief(model)
    x = model.initial_state()
    belief.update(x, "check-0", x, "good")
    assert belief.marginals()[0][1] == 1.0  # at distance 0 the sensor is certain
    belief.update(x, "sample", x, None)
    assert belief.marginals()[0].tolist() == [1.0, 0.0]
    assert belief.initial_marginals()[0].tolist() == [0.0, 1.0]


def test_a_copy_is_independent():
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    twin = belief.copy()
    twin.update(x, "listen", x, "hear-left")
    assert belief.vector.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(twin.vector, [0.85, 0.15])
