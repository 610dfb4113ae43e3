import numpy as np
import pytest
from factories import episodes

from pomdplite.experiments.statistics import Difference, holm, paired_differences, sign_flip_p, t_interval


def test_few_differences_are_tested_exactly():
    assert sign_flip_p(np.array([1.0, 2.0, 3.0])) == 2 / 8  # only all plus and all minus sum to 6 or more
    assert sign_flip_p(np.array([3.0, -1.0])) == 4 / 4  # |±3 ± 1| is 2 or 4: all are as extreme as 2
    assert sign_flip_p(np.array([0.1] * 10)) == 2 / 2**10


def test_no_difference_and_one_that_never_varies():
    assert sign_flip_p(np.zeros(50)) == 1.0
    assert sign_flip_p(np.full(50, 0.3)) == pytest.approx(1 / 10_001)
    assert sign_flip_p(np.concatenate([np.zeros(90), [1.0, 2.0, 3.0]])) == 2 / 8  # episodes that end alike say nothing


def test_many_differences_agree_with_the_normal_approximation():
    gaps = np.random.default_rng(0).normal(0.15, 1.0, 400)
    z = gaps.mean() / (np.sqrt(np.mean(gaps**2)) / np.sqrt(400))
    tail = np.mean(np.abs(np.random.default_rng(1).normal(size=1_000_000)) >= abs(z))
    assert sign_flip_p(gaps) == pytest.approx(tail, abs=0.005)
    assert sign_flip_p(gaps) == sign_flip_p(-gaps) == sign_flip_p(gaps.copy())


def test_alike_planners_are_told_apart_as_often_as_the_level_says():
    """Returns like Tiger's, mostly 5 and a rare −95: the share of p below 5 % keeps to 5 %."""
    generator = np.random.default_rng(7)
    one, two = (np.where(generator.random((400, 60)) < 0.1, -95.0, 5.0) for _ in range(2))
    false = np.mean([sign_flip_p(gaps) < 0.05 for gaps in one - two])
    assert 0.01 < false < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 400)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([0.02]) == [0.02] and holm([]) == []
    assert holm([0.01, 0.02], family=6) == pytest.approx([0.06, 0.1])


def test_only_common_episodes_are_compared():
    differences = paired_differences(episodes({0: 1, 1: 2, 2: 3, 9: 100}), episodes({1: 1, 2: 1, 5: 0}))
    assert differences.tolist() == [1.0, 2.0]
    assert len(paired_differences(episodes({0: 1}), episodes({1: 1}))) == 0


def test_a_difference_of_two_episodes_has_the_wide_interval_of_one_degree_of_freedom():
    found = Difference.of(np.array([1.0, 2.0]))
    assert (found.episodes, found.mean, found.stderr) == (2, 1.5, pytest.approx(0.5))
    assert found.ci95 == pytest.approx((1.5 - 12.7062 * 0.5, 1.5 + 12.7062 * 0.5), abs=1e-4)


def test_t_intervals_have_the_quantiles_of_the_tables():
    for count, quantile in ((15, 2.14479), (30, 2.04523), (10_001, 1.96020)):
        assert t_interval(3.0, 2.0, count) == pytest.approx((3 - 2 * quantile, 3 + 2 * quantile), abs=1e-4)
    assert t_interval(3.0, float("inf"), 1) == (-np.inf, np.inf)


def test_small_samples_are_covered_as_often_as_the_interval_says():
    """Normal intervals of 5 values cover the mean in 88 % of cases, Student's in 95 %."""
    samples = np.random.default_rng(3).normal(size=(4000, 5))
    intervals = [t_interval(s.mean(), s.std(ddof=1) / np.sqrt(5), 5) for s in samples]
    assert np.mean([low < 0 < high for low, high in intervals]) == pytest.approx(0.95, abs=0.012)
