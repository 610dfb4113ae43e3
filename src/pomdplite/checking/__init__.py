"""Finding mistakes in a model, and describing them with the state, the hidden value and the action at fault."""
