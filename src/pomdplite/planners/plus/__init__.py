"""POMDP-lite plus: starts from POMDP-lite and improves on it by search that updates the belief.

planner.py     the planner: solves for some seconds, then goes on from the present belief in every step
solver.py      which paths are sampled, before and during an episode
search.py      greedy paths: where the policy that is known so far leads
lite_paths.py  POMDP-lite's paths, and which components of θ matter to it
repeating.py   which policies that repeat one action are worth beginning with
"""
