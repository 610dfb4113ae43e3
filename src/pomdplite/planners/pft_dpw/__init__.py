"""PFT-DPW (Sunberg and Kochenderfer 2018): search over beliefs that are small sets of weighted particles.

planner.py  the planner
search.py   Simulate of the paper, with double progressive widening
filter.py   G_PF(m): the particles of a new belief and the mean reward on the way to it
tree.py     the tree: histories and their beliefs
"""
