"""Definition 1: the reward bonus, the expected L1 change of the belief.

    RB(b, s, a) = β Σ_s' P(s' | b, s, a) ‖b_s' − b‖₁

Here s' is everything that the agent sees: the outcome e = (next state, observation). With L(e, θ) the probability of
outcome e under θ and P(e) = Σ_θ b(θ) L(e, θ), Bayes' rule gives b_e(θ) = b(θ) L(e, θ) / P(e), so

    E‖b_e − b‖₁ = Σ_e Σ_θ b(θ) |L(e, θ) − P(e)|

which needs no division. If (s, a) depends on a single independent component, the beliefs about the others do not
change, and the change of the joint belief equals that of the component's belief.
"""

from pomdplite.compile.jit import Floats, reordered


@reordered
def expected_l1_change(b: Floats, likelihood: Floats, outcomes: int) -> float:
    """E‖b_e − b‖₁, Definition 1 with β = 1, for a belief b [n] and likelihoods [e, v] of so many outcomes."""
    first, last, change = 0, b.shape[0], 0.0
    while first < last and b[first] == 0.0:  # impossible values add nothing; these are the cheapest to leave out
        first += 1
    while first < last and b[last - 1] == 0.0:
        last -= 1
    possible = b[first:last]
    for e in range(outcomes):
        row = likelihood[e, first:last]  # rows without gaps: several numbers at once
        chance = 0.0
        for v in range(possible.shape[0]):
            chance += possible[v] * row[v]
        for v in range(possible.shape[0]):
            change += possible[v] * abs(row[v] - chance)
    return change
