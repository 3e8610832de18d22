"""The networks: plain ``torch.nn`` modules, a registry, Torch7's generator and initialisation."""
