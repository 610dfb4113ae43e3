"""Point-based value iteration for models in mixed-observability form: α-vectors, backed up at sampled beliefs.

solver.py         the loop: sample a path of beliefs, back them up, prune
backup.py         Backup: the α-vector of looking one step ahead at a belief
bounds.py         V̲ by α-vectors, V̄ by the sawtooth rule, Q̲ and Q̄ by looking one step ahead
tree.py           the tree of sampled beliefs
vectors.py        the set Γ of α-vectors
pruning.py        Prune: α-vectors and sampled beliefs that are no longer needed
folding.py        sums and minima over the joint values of θ, for all components at once
grouped_momdp.py  the model, with the outcomes of each state in groups that are evaluated together
merging.py        outcomes that tell almost the same about θ, merged
decisions.py      from α-vectors and bounds to a decision
arrays.py         the result as arrays, for files and other processes
"""
