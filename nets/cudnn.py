"""The use of cuDNN, wherever PyTorch convolves with it on a GPU."""

# How many kernels of a convolution cuDNN's autotuner times, in the order of cuDNN's own estimates. Some of
# PyTorch's ten take hundreds of times as long as the best: OverFeat's first pass of 64 samples took 11 s on
# an H200.
MOST_TRIED = 3
