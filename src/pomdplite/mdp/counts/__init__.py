"""The internal-reward MDP of unknown probabilities: solved exactly, and only where a new count can matter."""
