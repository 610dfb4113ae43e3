"""What POMCP, POMCPOW and PFT-DPW share.

simulation.py  the state of a simulation, draws from the belief at the root, rollouts
nodes.py       nodes and their actions: N(h), N(ha), Q(ha), the UCB1 rule, progressive widening, backing up
leaves.py      the value of a new leaf: full information, the model's heuristic, or a rollout
widening.py    the outcomes of an action that are in the tree: double progressive widening
exploration.py the constant of the UCB1 rule
planner.py     the planner that all three are kinds of
widening_planner.py  the planner that POMCPOW and PFT-DPW are kinds of
"""
