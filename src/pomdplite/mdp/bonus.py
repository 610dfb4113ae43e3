"""Definition 1: the reward bonus, the expected L1 change of the belief.

    RB(b, s, a) = β Σ_s' P(s' | b, s, a) ‖b_s' − b‖₁

Here s' is what the agent gets to see, the next state together with the observation. With L(e, θ) the
probability of outcome e under θ and P(e) = Σ_θ b(θ) L(e, θ), Bayes' rule gives b_e(θ) = b(θ) L(e, θ) / P(e), so

    E‖b_e − b‖₁ = Σ_e Σ_θ b(θ) |L(e, θ) − P(e)|

without a division. If (s, a) tells of one independent component only, the others do not move, and the change of
the joint belief is that of the component.
"""

from pomdplite.compile.jit import Floats, inlined


@inlined
def expected_l1_change(b: Floats, likelihood: Floats) -> float:
    """E‖b_e − b‖₁ for the belief b [n] and the likelihoods of the outcomes [e, n] (β = 1 in Definition 1)."""
    change = 0.0
    for e in range(likelihood.shape[0]):
        chance = 0.0
        for v in range(b.shape[0]):
            chance += b[v] * likelihood[e, v]
        for v in range(b.shape[0]):
            change += b[v] * abs(likelihood[e, v] - chance)
    return change
