"""One-dimensional Light-Dark (Sunberg and Kochenderfer 2018): as published (rules.py), and with readings in bins."""
