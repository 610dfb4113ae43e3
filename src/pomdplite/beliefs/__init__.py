"""Beliefs over the hidden parameter: what they all answer, and which one a model gets."""

from pomdplite.beliefs.exact import CategoricalBelief, FactoredBelief
from pomdplite.beliefs.particles import PARTICLES, ParticleBelief
from pomdplite.beliefs.rejection import UnweightedParticles
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model

__all__ = [
    "PARTICLES",
    "CategoricalBelief",
    "FactoredBelief",
    "ParticleBelief",
    "UnweightedParticles",
    "initial_belief",
]


def initial_belief(model: Model | KernelView, particles: int = PARTICLES) -> FactoredBelief:
    """The prior of a model, in the form that fits its hidden parameter."""
    view = model.compiled_form.kernel_view() if isinstance(model, Model) else model
    if not view.listed:
        return ParticleBelief(view, particles)
    return CategoricalBelief(view) if view.table.blocks == 1 else FactoredBelief(view)
