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

# Table carrying with a memory of one step: what planners earn, and two robots that do not plan. Nobody has published
# them. tests/test_table_carrying.py computes them by a recursion that shares no code with the library.
TABLE_CARRYING = {
    "bayes-optimal": 15.752767,
    "pomdp-lite-plus": 15.752767,
    "pomdp-lite": 15.749058,
    "mean-mdp": 15.749058,
    "qmdp": 15.723653,
    "most-likely": 15.308924,
    "insist": 14.773036,
    "give way": 14.450072,
}

# The Gouldian finch, from Universal-Adaptive-Management-Solver, a repository of the GitHub organisation
# conservation-decisions (Pascal et al., "A universal 2-state n-action adaptive management solver", AAAI 2021), file
# data/POLICYX/gouldian4Exp.policyx: α-vectors of SARSOP's policy from low persistence, a number for each expert. The
# first three repeat one action for ever.
GOULDIAN_REPEATED = {
    "fire-and-grazing": (116.474, 54.5161, 9.34065, 103.658),
    "cats": (58.0, 108.242, 34.375, 59.756),
    "nest-boxes": (37.8048, 74.8554, 73.2876, -4.62185),
}
# Another vector of that policy, and its value under the uniform prior: a lower bound on the optimal value.
GOULDIAN_VECTOR = (111.26, 86.5386, 46.6275, 94.514)
