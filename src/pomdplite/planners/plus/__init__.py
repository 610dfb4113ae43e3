"""POMDP-lite plus: starts from POMDP-lite and improves on it by search that updates the belief.

planner.py     the planner: solves for some seconds, then goes on from the present belief in every step
model_part.py  the model with some components of θ, or with all of them: what is solved, and what decides
rest.py        a second part, where not all components have room in the first
solver.py      which paths are sampled, before and during an episode
search.py      greedy paths: where the policy that is known so far leads
lite_paths.py  POMDP-lite's paths, and which components of θ matter to it
repeating.py   which policies that repeat one action are worth beginning with
"""
