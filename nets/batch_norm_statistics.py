"""Running statistics for batch normalisation in an untrained net.

With the initial statistics (mean 0, variance 1) the signal of a deep net vanishes: its output no longer
depends on its input, and denormal numbers slow a CPU down.
"""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


def set_running_statistics(module: nn.Module, sample: Tensor) -> None:
    """Gives every batch normalisation the mean and variance of its input for ``sample``, a batch of inputs.

    ``module`` is float32 on the CPU and keeps its mode; without batch normalisation nothing happens.
    Computed in float64, so that the statistics do not depend on which kernels did it.
    """
    layers = [
        layer for layer in module.modules() if isinstance(layer, _BatchNorm) and layer.track_running_stats
    ]
    if not layers:
        return
    training, momenta = module.training, [layer.momentum for layer in layers]
    for layer in layers:
        layer.reset_running_stats()
        layer.momentum = None  # a cumulative average, not a moving one
    try:
        # Dropout draws random numbers, which must not change the caller's.
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module.double().train()(sample.double() if sample.is_floating_point() else sample)
    finally:
        module.float().train(training)
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
