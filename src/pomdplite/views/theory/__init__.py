"""Views of the paper's analysis: what its figures show, and how they are drawn."""
