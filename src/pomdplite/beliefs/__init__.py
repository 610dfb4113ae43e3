"""Beliefs over the hidden parameter: what they all answer, and which one a model gets."""

from pomdplite.beliefs.categorical import CategoricalBelief
from pomdplite.beliefs.factored import FactoredBelief
from pomdplite.model import KernelView, Model

__all__ = ["CategoricalBelief", "FactoredBelief", "initial_belief"]


def initial_belief(model: Model | KernelView) -> FactoredBelief:
    """The prior of a model, in the form that fits its hidden parameter."""
    view = model.kernel_view() if isinstance(model, Model) else model
    return CategoricalBelief(view) if view.table.blocks == 1 else FactoredBelief(view)
