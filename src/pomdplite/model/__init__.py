"""The tuple (X, Θ, A, O, T, Z, R, γ) as a user writes it."""
