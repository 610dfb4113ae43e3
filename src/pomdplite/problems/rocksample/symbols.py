"""Names for RockSample's numbered actions, observations and hidden values."""

NORTH, SOUTH, EAST, WEST, SAMPLE, CHECK = range(6)  # CHECK + i senses rock i
BAD, GOOD = range(2)  # values of a rock, and observations of it
NO_ROCK = -1
