"""The processes of one run: one, or several that torchrun started side by side."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from convnet_benchmarks.errors import end_process

if TYPE_CHECKING:
    import torch

_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@dataclass(frozen=True)
class Processes:
    """This process's place among the others. Alone, everything here is without effect."""

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0
    local_world_size: int = 1
    backend: str = "none"

    @property
    def prints(self) -> bool:
        """Returns whether this process writes the lines and files: the first one does."""
        return self.rank == 0

    def barrier(self) -> None:
        """Waits until every process has come here."""
        if self.world_size > 1:
            import torch.distributed as dist

            dist.barrier()

    def largest(self, value: float) -> float:
        """Returns the largest ``value`` of all processes: the time of the slowest is the time of all."""
        if self.world_size == 1:
            return value
        import torch
        import torch.distributed as dist

        tensor = torch.tensor([value], dtype=torch.float64)
        if self.backend == "nccl":
            tensor = tensor.cuda()
        dist.all_reduce(tensor, op=dist.ReduceOp.MAX)
        return float(tensor.item())

    def average_gradients(self, module: "torch.nn.Module") -> None:
        """Replaces every parameter's ``.grad`` by its mean over the processes."""
        if self.world_size == 1:
            return
        import torch
        import torch.distributed as dist

        gradients = [parameter.grad for parameter in module.parameters() if parameter.grad is not None]
        # Large gradients go as they are; a copy into one flat buffer would cost more than it saves.
        for gradient in gradients:
            dist.all_reduce(gradient)
        torch._foreach_div_(gradients, self.world_size)

    def end_together(self) -> None:
        """Ends this process, with exit code 0, once every process has come here; without effect alone.

        At once, without tearing PyTorch down: gloo's threads now and then abort a process that does.
        """
        if self.world_size > 1:
            self.barrier()
            end_process(0)

    def close(self) -> None:
        """Leaves the group."""
        if self.world_size > 1:
            import torch.distributed as dist

            dist.destroy_process_group()


def started_by_torchrun() -> bool:
    """Returns whether torchrun (or anything with its variables) started several processes."""
    return all(name in os.environ for name in _VARIABLES) and int(os.environ["WORLD_SIZE"]) > 1


def join(cuda: bool) -> Processes:
    """Joins the processes that torchrun started: nccl with ``cuda``, else gloo. Alone without torchrun.

    On CPUs each process keeps to its own share of the cores, as one would with numactl.
    """
    if not started_by_torchrun():
        return Processes()
    import torch.distributed as dist

    rank, world_size, local_rank, local_world_size = (int(os.environ[name]) for name in _VARIABLES)
    backend = "nccl" if cuda else "gloo"
    if not cuda:
        _keep_to_own_cores(local_rank, local_world_size)
    dist.init_process_group(backend)
    return Processes(rank, world_size, local_rank, local_world_size, backend)


def _keep_to_own_cores(local_rank: int, local_world_size: int) -> None:
    import torch

    if not hasattr(os, "sched_setaffinity"):  # not Linux: the system places the processes
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // local_world_size))
        return
    cores = sorted(os.sched_getaffinity(0))
    share = max(1, len(cores) // local_world_size)
    first = local_rank * share % len(cores)
    own = cores[first : first + share]
    os.sched_setaffinity(0, own)
    torch.set_num_threads(len(own))
