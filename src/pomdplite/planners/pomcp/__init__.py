"""POMCP (Silver and Veness 2010)."""
