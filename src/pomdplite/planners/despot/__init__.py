"""DESPOT (Somani, Ye, Hsu, Lee 2013; Ye, Somani, Hsu, Lee 2017): anytime search of a sparse tree of scenarios.

planner.py  the planner: budget, number of scenarios, decisions
search.py   trials: Explore, Expand, Backup, Prune
bounds.py   the initial bounds ℓ₀ and μ₀ of a node
tables.py   what these are looked up in: values of every x and θ, computed once for each model
tree.py     the DESPOT: nodes with their scenarios Φ_b and bounds ℓ and μ
"""
