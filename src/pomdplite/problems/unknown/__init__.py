"""Problems with unknown transition probabilities, from the literature on Bayesian reinforcement learning."""
