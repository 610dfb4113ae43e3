"""Commands that are more than a call."""
