"""Every published or independently derived number that tests compare with, and its source."""

# One-shot Tiger, solved by hand on the lattice of net hearings (left minus right): discount -> Bayes-optimal value from
# the uniform belief. The optimal policy listens until one side leads by 3.
TIGER_VALUE = {0.95: 3.770, 0.99: 4.857, 1.0: 5.160}

# The same lattice at discount 0.95: β -> the lead at which POMDP-lite, solved exactly, stops listening.
TIGER_LEAD = {0.5: 1, 1.0: 1, 2.0: 2, 5.0: 2, 10.0: 2, 20.0: 3, 30.0: 3, 50.0: 3, 100.0: 4}
# Lead -> value from the uniform belief of stopping at that lead.
TIGER_LEAD_VALUE = {1: -7.175, 2: 3.299, 3: 3.770, 4: 2.469}

# Table I of Chen, Frazzoli, Hsu, Lee, "POMDP-lite for Robust Robot Planning under Uncertainty", ICRA 2016: |X|.
ROCKSAMPLE_STATES = {"4-4": 4 * 4 * 2**4, "7-8": 12_544}

# Mean MDP leaves RockSample at once, going east along the start row: 10 γ^(size − 1).
MEAN_MDP_ROCKSAMPLE_7_8 = 10 * 0.95**6

# Grasping with the geometry of problems/grasp, without noise: the Bayes-optimal value and the value if the cup is known.
# Nobody has published them. tests/grasp_by_sets.py computes them independently of the solvers.
GRASP_BAYES_OPTIMAL = 16.066208
GRASP_CUP_KNOWN = 28.292416
