"""SARSOP (Kurniawati, Hsu, Lee 2008) for models in mixed-observability form (Ong et al. 2010).

planner.py        the planner: solves once, then acts on the α-vectors
solver.py         the main loop, as a point-based solver (point_based/)
search.py         Sample of the paper
"""
