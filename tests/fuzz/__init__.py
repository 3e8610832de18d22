"""Hostile files of every kind that we read: a value or the format's own error, nothing else."""
