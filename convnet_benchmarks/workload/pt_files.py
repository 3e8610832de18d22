"""PyTorch's .pt files: read without running what is in them, or refused in one line."""

import re
import warnings
from typing import Any

from convnet_benchmarks.errors import UserError, check_file

# weights_only could be made to run code (CVE-2025-32434) or to write outside its memory (CVE-2026-24747).
SAFE_SINCE = (2, 10)
_FOREIGN = re.compile(r"\b(?:GLOBAL|global|class|function) `?([A-Za-z_][\w.]*\.\w+)")


def load_pt(path: str) -> Any:
    """Returns what is in a .pt file, on the CPU: tensors, numbers and texts in lists and dicts.

    Raises UserError, which names the file, for one that is broken, holds anything else or cannot be read, and
    for every file where this PyTorch cannot be trusted with it.
    """
    import torch

    release = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if release < SAFE_SINCE:
        since = ".".join(map(str, SAFE_SINCE))
        raise UserError(
            f"{path}: PyTorch {torch.__version__} does not read .pt files safely; {since} does, and every"
            " version reads .safetensors"
        )
    check_file(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what may change in PyTorch: not the user's concern
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or 'cannot be read as a .pt file'}") from None
    except Exception as error:  # the reader of pickles raises whatever a damaged one leads it to
        # PyTorch's own message is a page of advice, to load it without its protection among it.
        foreign = _FOREIGN.search(str(error))
        raise UserError(
            f"{path}: not a .pt file of tensors, numbers and texts in lists and dicts, such as a state_dict"
            + (f": it holds a {foreign[1]}" if foreign else "")
            + "; .safetensors cannot hold anything else"
        ) from None
