"""Carry a table through a door together with a person: the rules, and how it is drawn."""
