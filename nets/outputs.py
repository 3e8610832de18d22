"""Outputs of nets as PyTorch's trees of tuples, lists and dicts, in which a dataclass would be a leaf."""

from dataclasses import fields, is_dataclass
from typing import Any


def fields_of(value: Any) -> Any:
    """Returns the fields of a dataclass by their names, anything else unchanged."""
    if not is_dataclass(value) or isinstance(value, (type, dict)):
        return value
    return {field.name: getattr(value, field.name) for field in fields(value)}


def as_tree(output: Any) -> Any:
    """Returns an output with each dataclass replaced by a dict."""
    from torch.utils._pytree import tree_map

    return tree_map(lambda leaf: as_tree(fields_of(leaf)) if is_dataclass(leaf) else leaf, output)
