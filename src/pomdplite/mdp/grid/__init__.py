"""The internal-reward MDP of a model with continuous states, solved on the points of a declared grid."""
