"""Beliefs about the hidden parameter: one protocol, four kinds, and which one fits a model."""

from pomdplite.beliefs.exact import CategoricalBelief, ExactBelief, FactoredBelief
from pomdplite.beliefs.particles import PARTICLES, ParticleBelief
from pomdplite.beliefs.protocol import Belief, view_of
from pomdplite.beliefs.rejection import RejectionBelief
from pomdplite.errors import UnsuitableError
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model

__all__ = [
    "PARTICLES",
    "Belief",
    "CategoricalBelief",
    "ExactBelief",
    "FactoredBelief",
    "ParticleBelief",
    "RejectionBelief",
    "exact_belief",
    "initial_belief",
]


def initial_belief(model: Model | KernelView, particles: int = PARTICLES) -> Belief:
    """The prior of a model: exact where its hidden values can be listed, else particles."""
    view = view_of(model)
    return exact_belief(view) if view.listed else ParticleBelief(view, particles)


def exact_belief(model: Model | KernelView) -> ExactBelief:
    """The prior of a model whose hidden values can be listed."""
    view = view_of(model)
    if not view.listed:
        raise UnsuitableError(f"{view.model.name}: its hidden values cannot be listed, so it has no exact belief.")
    return FactoredBelief(view) if view.table.blocks > 1 else CategoricalBelief(view)
