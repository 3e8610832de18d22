"""Measuring convnets: what is timed, how, and how results are kept and shown."""
