"""POMCP (Silver and Veness 2010): Monte-Carlo tree search over histories.

planner.py  the planner: budgets, the belief at the root, decisions
search.py   Search, Simulate and Rollout of the paper, with the UCB1 rule
tree.py     the tree of histories: N(h), N(ha), V(ha)
"""
