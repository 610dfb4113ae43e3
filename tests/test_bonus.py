import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import pomdplite as pl
from pomdplite.mdp.bonus import expected_l1_change

probabilities = hnp.arrays(float, st.integers(1, 6), elements=st.floats(0.01, 1)).map(lambda w: w / w.sum())


def by_definition(b: np.ndarray, likelihood: np.ndarray) -> float:
    """Definition 1 as the paper writes it: the distances of the posteriors to b, weighted by probability."""
    total = 0.0
    for row in likelihood:
        chance = float(b @ row)
        if chance > 0:
            total += chance * np.abs(b * row / chance - b).sum()
    return total


@given(probabilities, st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_is_definition_1(b, outcomes, seed):
    rng = np.random.default_rng(seed)
    likelihood = rng.random((outcomes, len(b))) * (rng.random((outcomes, len(b))) < 0.7)
    likelihood[0] += 0.01
    likelihood /= likelihood.sum(axis=0)
    assert abs(expected_l1_change(b, likelihood, len(likelihood)) - by_definition(b, likelihood)) < 1e-12


@given(probabilities, st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_deterministic_observations_have_a_closed_form(b, outcomes, seed):
    seen = np.random.default_rng(seed).integers(0, outcomes, len(b))
    likelihood = (seen[None, :] == np.arange(outcomes)[:, None]).astype(float)
    chance = likelihood @ b
    assert abs(expected_l1_change(b, likelihood, len(likelihood)) - (2 * chance * (1 - chance)).sum()) < 1e-12


@given(probabilities)
def test_the_bonus_is_zero_where_all_values_predict_the_same(b):
    assert abs(expected_l1_change(b, np.full((2, len(b)), 0.5), 2)) < 1e-15


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_joint_belief_changes_by_as_much_as_the_observed_component(p, q, accuracy):
    """With independent components, only the belief about the observed one changes."""
    one, two = np.array([p, 1 - p]), np.array([q, 1 - q])
    sensor = np.array([[accuracy, 1 - accuracy], [1 - accuracy, accuracy]])
    joint = np.outer(one, two).ravel()
    joint_sensor = np.repeat(sensor, 2, axis=1)  # observes the first component
    assert (
        abs(expected_l1_change(joint, joint_sensor, len(joint_sensor)) - expected_l1_change(one, sensor, len(sensor)))
        < 1e-12
    )


@given(st.integers(0, 5), st.integers(1, 70), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_impossible_values_at_the_ends_change_nothing(before, possible, behind, seed):
    rng = np.random.default_rng(seed)
    b = np.concatenate([np.zeros(before), rng.dirichlet(np.ones(possible)), np.zeros(behind)])
    likelihood = rng.dirichlet(np.ones(4), len(b)).T.copy()
    more = np.vstack([likelihood, np.ones(len(b))])  # an outcome beyond those that count
    assert abs(expected_l1_change(b, more, 4) - by_definition(b, likelihood)) < 1e-12


def test_in_the_tiger_problem():
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    assert abs(belief.expected_change(x, "listen") - 0.7) < 1e-12  # |0.85 - 0.5| + |0.15 - 0.5|, for either sound
    assert belief.expected_change(x, "open-left") == 0.0
