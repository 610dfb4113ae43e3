"""The consoles that commands print to."""

import math
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from pomdplite.experiments.statistics import standard_error

out = Console(emoji=False)  # otherwise rich would turn the :log of beta=0.1:100:log into an emoji
err = Console(stderr=True, emoji=False)


def running_mean(returns: Sequence[float]) -> str:
    """Mean ± standard error so far."""
    error = standard_error(np.array(returns))
    return f"{np.mean(returns):.2f}" + (f" ± {error:.2f}" if math.isfinite(error) else "")
