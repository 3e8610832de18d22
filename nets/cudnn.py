"""Settings for cuDNN, wherever PyTorch convolves with it on a GPU."""

# How many kernels of a convolution cuDNN's autotuner times, in the order of cuDNN's own estimates. For
# OverFeat with 64 samples on an H200 choosing from 3 took 1.0 s, and the convolutions 62 ms; from 4 1.8 s
# and 60 ms; from 6 2.8 s and 55 ms; from PyTorch's own 10 8.7 s and 54 ms. Some of those take hundreds of
# times as long as the best.
MOST_TRIED = 4
MOST_TRIED_THOROUGHLY = 10
