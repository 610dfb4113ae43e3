"""SARSOP (Kurniawati, Hsu, Lee 2008) for models in mixed-observability form (Ong et al. 2010).

planner.py        the planner: solves once, then acts on the α-vectors
solver.py         the main loop: sample, back up, prune, until the bounds at the root are close or time is up
search.py         Sample and Backup of the paper
bounds.py         V̲ by α-vectors, V̄ by the sawtooth rule, Q̲ and Q̄ by looking one step ahead
tree.py           the tree T_R of sampled beliefs
vectors.py        the set Γ of α-vectors
pruning.py        Prune: α-vectors and sampled beliefs that are no longer needed
folding.py        sums and minima over the joint values of θ, for all components at once
grouped_momdp.py  the model, with the outcomes of each state in groups that are evaluated together
files.py          policy files
"""
