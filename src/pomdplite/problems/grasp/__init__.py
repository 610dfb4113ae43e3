"""Grasping a cup by touch."""
