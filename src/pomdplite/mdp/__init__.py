"""The MDPs behind a POMDP-lite: Theorem 1's set of MDPs, and the internal-reward MDP with its solvers."""
