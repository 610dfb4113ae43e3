"""RockSample (Smith and Simmons 2004)."""
