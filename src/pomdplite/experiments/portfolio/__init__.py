"""Choosing a planner for a model by a race of planners.

plan.py       `plan`: prepares the contenders, races them, remembers the choice
contest.py    the race: rounds of common episodes, after which those drop out that earn less
standings.py  the result: what was chosen, and why
"""
