"""The arithmetic of a net, counted operator by operator."""
