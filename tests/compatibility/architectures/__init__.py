"""Well-known architectures, built by their repositories' own code, beside what to_torch makes of them."""
