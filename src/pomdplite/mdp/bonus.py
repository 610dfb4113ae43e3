"""Definition 1: the reward bonus, the expected L1 change of the belief.

    RB(b, s, a) = β Σ_s' P(s' | b, s, a) ‖b_s' − b‖₁

Here s' is everything that the agent sees: the outcome e = (next state, observation). With L(e, θ) the probability of
outcome e under θ and P(e) = Σ_θ b(θ) L(e, θ), Bayes' rule gives b_e(θ) = b(θ) L(e, θ) / P(e), so

    E‖b_e − b‖₁ = Σ_e Σ_θ b(θ) |L(e, θ) − P(e)|

which needs no division. If (s, a) depends on a single independent component, the beliefs about the others do not
change, and the change of the joint belief equals that of the component's belief.
"""

from pomdplite.compile.jit import Floats, inlined


@inlined
def expected_l1_change(b: Floats, likelihood: Floats) -> float:
    """E‖b_e − b‖₁, Definition 1 with β = 1, for a belief b [n] and the likelihoods of the outcomes [e, n]."""
    first, last, change = 0, b.shape[0], 0.0
    while first < last and b[first] == 0.0:  # impossible values add nothing; these are the cheapest to leave out
        first += 1
    while first < last and b[last - 1] == 0.0:
        last -= 1
    for e in range(likelihood.shape[0]):
        chance = 0.0
        for v in range(first, last):
            chance += b[v] * likelihood[e, v]
        for v in range(first, last):
            change += b[v] * abs(likelihood[e, v] - chance)
    return change
