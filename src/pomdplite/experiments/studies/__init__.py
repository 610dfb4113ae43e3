"""Studies: many planners on many problems, stored in a file."""
