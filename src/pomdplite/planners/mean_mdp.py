"""Mean MDP, the paper's baseline without exploration: the same MDP with β = 0, the belief updated at every step."""

from typing import Any, ClassVar

from pomdplite.mdp.budget import SOLVE_SECONDS
from pomdplite.model.model import Model
from pomdplite.planners.pomdp_lite import PomdpLite


class MeanMdp(PomdpLite):
    """Acts optimally in the mean of the MDPs under the current belief."""

    title: ClassVar[str] = "mean-mdp"

    def __init__(
        self, model: Model, *, solver: str = "auto", time: float | None = None, sims: int | None = None,
        solve_time: float = SOLVE_SECONDS,
    ) -> None:  # fmt: skip
        super().__init__(model, 0.0, solver=solver, time=time, sims=sims, solve_time=solve_time)

    @property
    def choices(self) -> tuple[str, ...]:
        """As for POMDP-lite, without β, which is always 0."""
        return super().choices[1:]

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"solver": self.solver_name, "time": self.time, "sims": self.sims, "solve_time": self.solve_time}
