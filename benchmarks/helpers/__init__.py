"""What several benchmarks use, or one of them runs."""
