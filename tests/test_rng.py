"""Random streams: the normal quantile against SciPy's."""

import numpy as np
import pytest
from scipy.special import ndtri

from pomdplite import rng


def test_normal_quantile_agrees_with_scipy() -> None:
    u = np.concatenate([np.linspace(1e-3, 1 - 1e-3, 1000), 10.0 ** -np.arange(4, 17), 1 - 2.0 ** -np.arange(10, 54)])
    found = [rng.normal_quantile(p) for p in u]
    np.testing.assert_allclose(found, ndtri(u), rtol=1e-12)


def test_normal_quantile_is_finite_and_symmetric_at_the_ends() -> None:
    assert rng.normal_quantile(0.5) == 0.0
    assert rng.normal_quantile(0.0) == -rng.normal_quantile(1.0) == pytest.approx(ndtri(2.0**-54), rel=1e-12)
