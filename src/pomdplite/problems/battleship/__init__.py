"""Battleship (Silver and Veness 2010)."""
