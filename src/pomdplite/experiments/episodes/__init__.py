"""Playing episodes: one at a time, many in parallel, and their statistics."""
