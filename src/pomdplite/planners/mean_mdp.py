"""Mean MDP: the paper's baseline without exploration. The same MDP with β = 0, belief updated every step."""

from typing import Any, ClassVar

from pomdplite.mdp.reachable import STATE_LIMIT
from pomdplite.mdp.value_iteration import TOLERANCE
from pomdplite.model import Model
from pomdplite.planners.pomdp_lite import PomdpLite


class MeanMdp(PomdpLite):
    """Act best in the average of the MDPs."""

    title: ClassVar[str] = "mean-mdp"

    def __init__(self, model: Model, *, tolerance: float = TOLERANCE, limit: int = STATE_LIMIT) -> None:
        super().__init__(model, 0.0, tolerance=tolerance, limit=limit)

    @property
    def parameters(self) -> dict[str, Any]:
        """The solver's tolerance and the limit on states."""
        return {"tolerance": self.tolerance, "limit": self.limit}
