"""Connection tables of convolutions: rows of an input plane and an output plane, counted from 0."""

import torch
from torch import Tensor

__all__ = ["maps"]


class maps:
    """``nn.SpatialConvolutionMap.maps``."""

    @staticmethod
    def full(nin: int, nout: int) -> Tensor:
        """Returns a table of each input with each output."""
        return torch.tensor([(i, o) for o in range(nout) for i in range(nin)]).to(torch.get_default_dtype())

    @staticmethod
    def oneToOne(nfeat: int) -> Tensor:
        return torch.tensor([(i, i) for i in range(nfeat)]).to(torch.get_default_dtype())

    @staticmethod
    def random(nin: int, nout: int, nto: int) -> Tensor:
        """Returns a table of ``nto`` inputs for each output, all of them used before one is used again."""
        rows: list[tuple[int, int]] = []
        left: list[int] = []
        for output in range(nout):
            if len(left) < nto:
                left = torch.randperm(nin).tolist()
            rows += [(left.pop(0), output) for _ in range(nto)]
        return torch.tensor(rows).to(torch.get_default_dtype())
