"""From a model's Python functions to machine code that kernels call."""
