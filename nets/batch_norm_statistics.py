"""Running statistics for batch normalisation in a net that was never trained.

With those a net starts with (mean 0, variance 1) the signal of a deep one dies on its way: its output no
longer depends on its input, and denormal numbers slow a CPU down.
"""

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm


def set_running_statistics(module: nn.Module, sample: Tensor) -> None:
    """Gives every batch normalisation the mean and variance that it meets on ``sample``, a batch of inputs.

    ``module`` is float32 on the CPU and is left in its mode; nothing happens without batch normalisation.
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
        layer.momentum = None  # the plain mean of what it meets, not a moving one
    try:
        # Dropout draws from the generator, which must not change what the caller draws next.
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module.double().train()(sample.double() if sample.is_floating_point() else sample)
    finally:
        module.float().train(training)
        for layer, momentum in zip(layers, momenta, strict=True):
            layer.momentum = momentum
