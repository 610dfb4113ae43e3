"""Playing episodes, in this process or on worker processes."""
