"""What is run of the repositories on the list."""
