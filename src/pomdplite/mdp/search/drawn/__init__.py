"""UCT with progressive widening, where next states or observations are drawn."""
