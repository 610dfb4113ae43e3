"""The internal-reward MDP, searched online from the current state: UCT.

solver.py           what both searches have in common as solvers: the budget, the root, the solution
nodes.py            the states that a search has visited
action_widening.py  which of many actions a node considers
listed/             next states and observations are listed: UCT on a graph, or on the paper's tree
drawn/              they are drawn, since they are real numbers: UCT with progressive widening
"""
