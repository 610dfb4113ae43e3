"""Beliefs about the hidden parameter: one protocol, seven kinds, and which one fits a model."""

from pomdplite.beliefs.counts import CountsBelief
from pomdplite.beliefs.drawn import DrawnBelief
from pomdplite.beliefs.exact import CategoricalBelief, ExactBelief, FactoredBelief
from pomdplite.beliefs.particles import PARTICLES, ParticleBelief
from pomdplite.beliefs.protocol import Belief, view_of
from pomdplite.beliefs.quadrature import QuadratureBelief, grids_fit
from pomdplite.beliefs.rejection import RejectionBelief
from pomdplite.errors import UnsuitableError
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.spaces import Distributed

__all__ = [
    "PARTICLES",
    "Belief",
    "CategoricalBelief",
    "CountsBelief",
    "DrawnBelief",
    "ExactBelief",
    "FactoredBelief",
    "ParticleBelief",
    "QuadratureBelief",
    "RejectionBelief",
    "exact_belief",
    "initial_belief",
]


def initial_belief(model: Model | KernelView, particles: int = PARTICLES) -> Belief:
    """The prior of a model: exact where its hidden values can be listed or lie on a grid, counts if
    its probabilities are unknown, else particles.
    """
    view = view_of(model)
    if view.counted:
        return CountsBelief(view)
    if view.listed:
        return exact_belief(view)
    if grids_fit(view.model.hidden):
        return QuadratureBelief(view)
    return (DrawnBelief if isinstance(view.model.hidden, Distributed) else ParticleBelief)(view, particles)


def exact_belief(model: Model | KernelView) -> ExactBelief:
    """The prior of a model whose hidden values can be listed."""
    view = view_of(model)
    if not view.listed or view.counted:
        raise UnsuitableError(f"{view.model.name}: its hidden values cannot be listed, so it has no exact belief.")
    return FactoredBelief(view) if view.table.blocks > 1 else CategoricalBelief(view)
