"""Begins to compile what takes longest, the products of every net, while PyTorch is still being loaded."""

import contextlib
import threading
from pathlib import Path

from convnet_benchmarks.nets.engine.kernels.compiled.compiling import NotCompiled, library, vector_source

PRODUCTS = Path(__file__).with_name("products.c")
ROWS_TOGETHER = 6  # products.c keeps their sums in registers
CONSTANTS = f"#define ROWS {ROWS_TOGETHER}\n"  # that products.c asks for

_REALS = {"float32": "float", "float64": "double"}


def start(dtype: str) -> None:
    """Begins to compile the products for elements of ``dtype``, a name; does nothing for one without."""
    if dtype in _REALS:
        threading.Thread(target=_make, args=(_REALS[dtype],), daemon=True).start()


def _make(real: str) -> None:
    with contextlib.suppress(NotCompiled):  # who needs the library is told
        library(vector_source(PRODUCTS, real, constants=CONSTANTS))
