"""UCT where next states and observations are listed, with their probabilities."""
