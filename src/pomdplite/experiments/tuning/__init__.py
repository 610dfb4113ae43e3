"""Searching for good planner parameters."""
