"""Layers that are one matrix product: Linear, 1x1 convolutions, and kernels that cover the whole input.

The weight (out, in, kernel) is used as it is, as an (out, in * kernel) matrix, and so is its gradient.
"""

import torch
from torch import Tensor

from convnet_benchmarks.nets.engine.kernels import onednn
from convnet_benchmarks.nets.engine.kernels.compiled import few_rows
from convnet_benchmarks.nets.engine.kernels.compiled import products as compiled_products
from convnet_benchmarks.nets.engine.kernels.kernel import Kernel
from convnet_benchmarks.nets.engine.memory import Memory
from convnet_benchmarks.nets.engine.shapes import ConvolutionShape
from convnet_benchmarks.nets.engine.weights import CachedWeight


class MatrixProduct(Kernel):
    """The three phases of rows (m, k) times weight (n, k) transposed. ``library`` is "blas", "onednn"
    or "compiled"."""

    def __init__(self, library: str) -> None:
        self.library = library

    @property
    def adds(self) -> bool:
        return self.library == "compiled"

    @property
    def adds_gradient(self) -> bool:
        return self.library != "onednn"

    def forward(
        self, rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        if self.library == "onednn":
            onednn.place(onednn.linear(rows, weight, bias), relu, out)
        elif self.library == "compiled":
            compiled_products.mm(rows, weight.t(), out, add, bias, relu)
        else:
            if bias is None:
                torch.mm(rows, weight.t(), out=out)
            else:
                torch.addmm(bias, rows, weight.t(), out=out)
            if relu:
                out.clamp_min_(0)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        if self.library == "onednn":
            grad_in.copy_(self.input_gradient_somewhere(grad_out, weight, grad_in))
        elif self.library == "compiled":
            compiled_products.mm(grad_out, weight, grad_in)
        else:
            torch.mm(grad_out, weight, out=grad_in)

    def add_input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        if self.library == "compiled":
            compiled_products.mm(grad_out, weight, grad_in, add=True)
        else:
            grad_in.addmm_(grad_out, weight)

    def input_gradient_somewhere(self, grad_out: Tensor, weight: Tensor, buffer: Tensor) -> Tensor:
        """Returns the input gradient in ``buffer``, or in new memory if the library allocates it."""
        if self.library == "onednn":
            return onednn.linear(grad_out, weight.t(), None)
        self.input_gradient(grad_out, weight, buffer)
        return buffer

    def weight_gradient(self, rows: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        if rows.shape[0] == 1:  # an outer product: memory-bound, and BLAS takes twice as long
            grad_weight.addcmul_(grad_out.t(), rows)
        elif self.library == "onednn":
            by_output = grad_out.t().contiguous()
            for outs in onednn.parts_to_add(grad_weight):
                grad_weight[outs].add_(onednn.linear(by_output[outs], rows.t(), None))
        elif self.library == "compiled":
            compiled_products.mm(grad_out.t(), rows, grad_weight, add=True)
        else:
            grad_weight.addmm_(grad_out.t(), rows)


class ProductOfPanels(MatrixProduct):
    """Forward and input gradient by compiled code, on a packed copy of the weight."""

    def __init__(self, memory: Memory) -> None:
        super().__init__("compiled")
        self.memory = memory
        self._panels: CachedWeight[Tensor] = CachedWeight()
        self._transposed: CachedWeight[Tensor] = CachedWeight()

    def _pack(self, matrix: Tensor, out: Tensor | None) -> Tensor:
        return compiled_products.pack(matrix[None], out, self.memory)

    def forward(
        self, rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        packed = self._panels.get(weight, lambda weight, out: self._pack(weight.t(), out))
        compiled_products.mm(rows, weight.t(), out, add, bias, relu, packed)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        packed = self._transposed.get(weight, self._pack)
        compiled_products.mm(grad_out, weight, grad_in, packed=packed)

    def add_input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        packed = self._transposed.get(weight, self._pack)
        compiled_products.mm(grad_out, weight, grad_in, add=True, packed=packed)


class ProductOfFewRows(MatrixProduct):
    """Forward and input gradient by compiled code that reads the weight once, without packing it."""

    def __init__(self, memory: Memory) -> None:
        super().__init__("compiled")

    def forward(
        self, rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        few_rows.multiply_transposed(rows, weight, out, add, bias, relu)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        few_rows.multiply(grad_out, weight, grad_in)

    def add_input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        few_rows.multiply(grad_out, weight, grad_in, add=True)


class SlicedProduct(MatrixProduct):
    """Few rows against a large weight, as a batch of products over slices of it.

    A BLAS that packs a large weight for a few rows moves it twice; slices that fit the cache move once.
    """

    def __init__(self, slices: int, memory: Memory) -> None:
        super().__init__("blas")
        self.memory = memory
        self.slices = slices

    def forward(
        self, rows: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        (m, k), n = rows.shape, weight.shape[0]
        transposed, found = self.memory.scratch(rows.dtype, (k, m), (self.slices, n // self.slices, m))
        transposed.copy_(rows.t())
        torch.bmm(weight.view(self.slices, -1, k), transposed.expand(self.slices, k, m), out=found)
        if bias is None:
            out.copy_(found.view(n, m).t())
        else:
            torch.add(found.view(n, m).t(), bias, out=out)
        if relu:
            out.clamp_min_(0)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        (m, n), k = grad_out.shape, weight.shape[1]
        (found,) = self.memory.scratch(grad_out.dtype, (self.slices, m, k // self.slices))
        by_slice = weight.view(n, self.slices, -1).transpose(0, 1)
        torch.bmm(grad_out.expand(self.slices, m, n), by_slice, out=found)
        grad_in.view(m, self.slices, -1).copy_(found.transpose(0, 1))


class PointwiseConvolution(Kernel):
    """A 1x1 convolution: one row per position, on the activations as they are."""

    def __init__(self, product: MatrixProduct) -> None:
        self.product = product

    @property
    def adds(self) -> bool:
        return self.product.adds

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        self.product.forward(x.flatten(0, 2), weight.flatten(1), bias, out.flatten(0, 2), relu, add)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.product.input_gradient(grad_out.flatten(0, 2), weight.flatten(1), grad_in.flatten(0, 2))

    @property
    def adds_gradient(self) -> bool:
        return self.product.adds_gradient

    def add_input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.product.add_input_gradient(grad_out.flatten(0, 2), weight.flatten(1), grad_in.flatten(0, 2))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        self.product.weight_gradient(x.flatten(0, 2), grad_out.flatten(0, 2), grad_weight.flatten(1))


class CoveringConvolution(Kernel):
    """A kernel as large as its input: one row per image, in the weight's order (channel, row, column)."""

    def __init__(self, shape: ConvolutionShape, memory: Memory, product: MatrixProduct) -> None:
        self.product = product
        # The product requests scratch memory itself, so these rows are allocated separately.
        self._rows = memory.empty((shape.batch, shape.in_channels, *shape.in_size), shape.dtype)

    def _gather(self, x: Tensor) -> Tensor:
        return self._rows.copy_(x.permute(0, 3, 1, 2)).flatten(1)

    def forward(
        self, x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, relu: bool, add: bool = False
    ) -> None:
        self.product.forward(self._gather(x), weight.flatten(1), bias, out.flatten(1), relu)

    def input_gradient(self, grad_out: Tensor, weight: Tensor, grad_in: Tensor) -> None:
        self.product.input_gradient(grad_out.flatten(1), weight.flatten(1), self._rows.flatten(1))
        grad_in.copy_(self._rows.permute(0, 2, 3, 1))

    def weight_gradient(self, x: Tensor, grad_out: Tensor, grad_weight: Tensor) -> None:
        self.product.weight_gradient(self._gather(x), grad_out.flatten(1), grad_weight.flatten(1))
