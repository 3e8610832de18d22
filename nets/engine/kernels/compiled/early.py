"""Starts the longest compilation, of the matrix products, while PyTorch is still being loaded."""

import contextlib
import threading
from pathlib import Path

from convnet_benchmarks.nets.engine.kernels.compiled.compiling import (
    LESS,
    NotCompiled,
    library,
    vector_source,
)

PRODUCTS = Path(__file__).with_name("products.c")
ROWS_TOGETHER = 6  # products.c keeps their sums in registers
CONSTANTS = f"#define ROWS {ROWS_TOGETHER}\n"  # needed by products.c
LEVEL = LESS

# Seconds to start a compiler in: PyTorch's libraries keep other threads waiting while they are loaded.
_HEAD_START = 0.03
_REALS = {"float32": "float", "float64": "double"}


def start(dtype: str) -> None:
    """Starts to compile the products for elements of ``dtype``, a name; does nothing for a type without
    them."""
    if dtype in _REALS:
        thread = threading.Thread(target=_make, args=(_REALS[dtype],), daemon=True)
        thread.start()
        thread.join(_HEAD_START)


def _make(real: str) -> None:
    with contextlib.suppress(NotCompiled):  # reported when the library is needed
        library(vector_source(PRODUCTS, real, constants=CONSTANTS), LEVEL)
