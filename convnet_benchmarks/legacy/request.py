"""The run that the options of a legacy script ask for: resolved once, and handed on."""

from dataclasses import dataclass
from typing import Any

from convnet_benchmarks.errors import UserError
from convnet_benchmarks.legacy import backends
from convnet_benchmarks.legacy.options import LegacyOptions
from convnet_benchmarks.nets import registry
from convnet_benchmarks.nets.net import Net
from convnet_benchmarks.workload import nets as named_nets
from convnet_benchmarks.workload.backends import Backend
from convnet_benchmarks.workload.nets import by, check_size
from convnet_benchmarks.workload.ran import batch_size


@dataclass(frozen=True)
class Request:
    """The options, and the net, the kernels and the input that they name.

    ``input_shape``: batch (when 4-D), planes, height, width; or batch and what else the net takes; of several
    inputs the first one's.
    """

    options: Any  # of the script's own class
    net: Net
    backend: Backend
    input_shape: tuple[int, ...]

    @property
    def sample(self) -> tuple[int, ...]:
        """Returns the shape of one sample."""
        return self.input_shape[-len(self.net.input_size) :]

    @property
    def samples(self) -> int:
        """Returns how many samples the input has."""
        return batch_size(self.net, self.input_shape)

    @property
    def notes(self) -> list[str]:
        """Returns what a user may not expect of the options, for stderr."""
        options, net, notes = self.options, self.net, []
        if backends.takes_stock(options):
            auto = "time the engine's for each layer and phase, and keep the fastest"
            if net.inputs and options.cuda:
                auto = "refuse it: on a GPU the engine takes nets of one input"
            notes.append(f"PyTorch's own kernels (stock) run this net; --backend auto would {auto}")
        if net.tokens:
            notes.append(
                f"{net.name} takes token ids: updateGradInput stops at the embedding, gradInput is 0"
            )
        if options.tensor_4d is False and options.batch_size > 1:
            ignored = f"-batch_size {options.batch_size} is ignored"
            notes.append(f"-4d_tensor false: one sample, as in the original; {ignored}")
        if options.relu_cudnn and not options.cudnn:
            notes.append("-relu_cudnn true has no effect without -cudnn true, as in the original")
        return notes


def resolve(options: LegacyOptions) -> Request:
    """Returns what ``options`` ask for. Raises UserError with what is accepted.

    Checks what a net of the registry never takes; ``workload.prepare`` checks the rest.
    """
    net = _find_net(options)
    return Request(options, net, backends.choose(options), _input_shape(options, net))


def _find_net(options: LegacyOptions) -> Net:
    net = options.net
    if options.input_size is not None:
        for option in ("x", "y", "z"):
            if getattr(options, option) is not None:
                raise UserError(
                    f"option --input-size: it and -{option} say the same; use only one of the two"
                )
        return named_nets.find(net, options.input_size)
    if net not in registry.NETS and options.x is not None and options.y is not None:
        return named_nets.find(net, (options.z or 3, options.x, options.y))
    return named_nets.find(net)


def _input_shape(options: LegacyOptions, net: Net) -> tuple[int, ...]:
    given = (options.z, options.x, options.y)
    sample = net.input_size
    if len(sample) == len(given):
        sample = tuple(own if size is None else size for size, own in zip(given, sample, strict=True))
    elif any(size is not None for size in given):
        raise UserError(f"option -x, -y, -z: an input of {net.name} is {by(sample)}; use --input-size")
    if net.name in registry.NETS:
        check_size(registry.NETS[net.name], sample, "-z")
    batched = options.tensor_4d
    if batched is None:
        batched = options.batch_size > 1 or not net.unbatched
    elif not batched and not net.unbatched:
        raise UserError(f"option -4d_tensor false: {net.name} takes batches only; omit the option")
    samples = options.batch_size
    if net.inputs and samples == 1:
        samples = net.inputs[0].shape[0]
    return (samples, *sample) if batched else sample
