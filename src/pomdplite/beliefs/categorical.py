"""Exact belief over one hidden value, or over every combination of several: a probability vector."""

from typing import Any

from pomdplite.beliefs.factored import FactoredBelief
from pomdplite.errors import UsageError
from pomdplite.jit import Floats
from pomdplite.model import KernelView, Model


class CategoricalBelief(FactoredBelief):
    """A belief with a single block; every (x, a) may tell of it."""

    def __init__(self, model: Model | KernelView) -> None:
        view = model.kernel_view(joint=True) if isinstance(model, Model) else model
        if view.table.blocks != 1:
            raise UsageError("a categorical belief needs Θ listed as a whole: use model.kernel_view(joint=True).")
        super().__init__(view)

    @property
    def vector(self) -> Floats:
        """P(θ₀ = v) for every joint value v."""
        return self.probabilities[:-1].copy()

    def probability(self, theta: Any) -> float:
        """P(θ₀ = theta) for a record of θ."""
        for row, p in enumerate(self.vector):
            if self.view.table.joint_indices(row) == tuple(self.view.model.hidden.indices(theta)):
                return float(p)
        return 0.0
