"""Finding mistakes in a model, and reporting them in the user's words."""
