"""The state of a module: whether it has changed, and putting it back."""
