"""Old programs of Torch7 that train on a GPU, run by th, and the same nets trained by PyTorch."""
