"""Where commands write, and how they write a mean while it is under way."""

import math
from collections.abc import Sequence

import numpy as np
from rich.console import Console

from pomdplite.experiments.episodes.evaluate import standard_error

out = Console(emoji=False)  # else beta=0.1:100:log has a picture in it
err = Console(stderr=True, emoji=False)


def running_mean(returns: Sequence[float]) -> str:
    """Mean ± standard error so far."""
    error = standard_error(np.array(returns))
    return f"{np.mean(returns):.2f}" + (f" ± {error:.2f}" if math.isfinite(error) else "")
