"""Memory: the heap of the C library, and huge pages."""
