"""Planners for unknown transition probabilities, besides POMDP-lite and Mean MDP: the rivals of the literature."""
