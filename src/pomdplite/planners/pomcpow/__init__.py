"""POMCPOW (Sunberg and Kochenderfer 2018): search over histories whose observations may be real numbers.

planner.py  the planner
search.py   Simulate of the paper, with weighted particles in every history
tree.py     the tree: the outcomes of each action, and the particles of each history
"""
