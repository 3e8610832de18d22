"""Forward hooks of modules, which no file of a model holds."""

from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from lua_compat.conversion.errors import ConversionError


def without_hooks(module: nn.Module, path: str, *, weights: bool = False) -> None:
    """Raises ConversionError with the path of a module that has a forward hook, or no parameters before its
    first pass, for which it has one.

    ``weights``: those of ``weight_norm`` and ``spectral_norm`` are allowed; the weights that they compute at
    each pass are computed.
    """
    for name, part in module.named_modules():
        place = f"{path}.{name}" if name else path
        if any(map(is_lazy, part.parameters(recurse=False))):
            raise ConversionError(
                f"{type(part).__name__} has no parameters yet; run the net once first", place
            )
        for hook in (*part._forward_pre_hooks.values(), *part._forward_hooks.values()):
            if weights and isinstance(hook, WeightNorm):
                setattr(part, hook.name, hook.compute_weight(part))
            elif weights and isinstance(hook, SpectralNorm):
                setattr(part, hook.name, hook.compute_weight(part, do_power_iteration=False))
            else:
                raise ConversionError(f"{type(part).__name__} has a forward hook; remove it first", place)
