"""What executes an action for real. So far: the model itself."""

from pomdplite.worlds.model import ModelWorld, Outcome

__all__ = ["ModelWorld", "Outcome"]
