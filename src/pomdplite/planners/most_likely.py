"""The most likely hidden value, taken for true: the baseline of Nourbakhsh, Powers and Birchfield (1995), for θ.

    a ← argmax_a Q_θ*(x, a),        θ* = argmax_θ b(θ)

Q_θ is exact for every θ, as in QMDP (mdp/full_information.py). The belief is updated at every step, but neither the
other values nor the use of information count. If several values are equally likely, the first one is taken.
"""

from typing import ClassVar

import numpy as np

from pomdplite.mdp.solution import TIE
from pomdplite.planners.decision import Decision
from pomdplite.planners.qmdp import Qmdp


class MostLikely(Qmdp):
    """Acts optimally for the most probable θ, as if it were known.

    The parameters are those of QMDP.
    """

    title: ClassVar[str] = "most-likely"

    def _decide(self) -> Decision:
        b = self.belief.joint()
        likeliest = np.zeros_like(b)
        likeliest[np.argmax(b >= b.max() * (1 - TIE))] = 1.0
        return self._decide_for(likeliest)
