"""Swing up an acrobot whose two links have unknown masses: dynamics.py, rules.py (the model), drawing.py."""
