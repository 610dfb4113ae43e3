"""Grasping a cup by touch (the POMDP-lite paper, Section VI)."""
