"""The internal-reward MDP of models with noise or readings, whose outcomes are drawn instead of listed."""
