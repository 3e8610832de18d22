"""Readers of option values: each takes a text, and raises ArgumentTypeError with what is accepted."""

import argparse
import os
import re

from convnet_benchmarks.nets.net import LIST, Input, InputSize
from convnet_benchmarks.workload.devices import DTYPES

_MOST_THREADS = 1024
_LARGEST_SEED = 2**32 - 1


def thread_count(text: str) -> int:
    """Returns an option's number of CPU threads. PyTorch takes any, and fails later where there are too
    many.
    """
    return _whole_number(text, 1, _MOST_THREADS)


def seed(text: str) -> int:
    """Returns an option's seed: Torch7's generator takes 32 bits."""
    return _whole_number(text, 0, _LARGEST_SEED)


def _whole_number(text: str, least: int, most: int) -> int:
    if not text.isascii() or not text.isdigit() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} to {most}")
    return int(text)


def natural(text: str) -> int:
    """Returns an option's whole number from 0 up."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 0 up")
    return int(text)


def names(text: str) -> list[str]:
    """Returns an option's comma-separated names; commas in brackets are part of a name."""
    found = [""]
    depth = 0
    for character in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(character, 0)
        if character == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += character
    found = [name.strip() for name in found if name.strip()]
    if not found:
        raise argparse.ArgumentTypeError("no name given; accepted: names separated by commas")
    return list(dict.fromkeys(found))


def positive(text: str) -> int:
    """Returns an option's whole number from 1 up."""
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 up")
    return int(text)


def sizes(text: str) -> list[int]:
    """Returns an option's comma-separated whole numbers from 1 up."""
    return list(dict.fromkeys(positive(part.strip()) for part in text.split(",")))


def memory_size(text: str) -> int:
    """Returns an option's amount of memory, such as 8GiB, 512M or 1.5g, in bytes (1024 to the K)."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d+)?)\s*([kmgt])(?:i?b)?", text, re.IGNORECASE)
    if not found or float(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not an amount of memory such as 8GiB or 512MiB")
    return int(float(found[1]) * 1024 ** ("kmgt".index(found[2].lower()) + 1))


def seconds(text: str) -> float:
    """Returns an option's number of seconds above 0."""
    return _number(text, "seconds")


def seconds_or_none(text: str) -> float:
    """Returns an option's number of seconds from 0 up."""
    return _number(text, "seconds", zero=True)


def milliseconds(text: str) -> float:
    """Returns an option's number of milliseconds above 0."""
    return _number(text, "milliseconds")


def _number(text: str, unit: str, zero: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf") or (value == 0 and not zero):
        accepted = "from 0 up" if zero else "above 0"
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of {unit} {accepted}")
    return value


def one_size(text: str) -> tuple[int, ...]:
    """Reads the size of one sample, of any number of dimensions: 3x224x224 or 3,224,224."""
    try:
        return tuple(positive(part.strip()) for part in re.split("[x,]", text.lower()))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 3x224x224 or 2x20") from None


def size_with_batch(text: str) -> tuple[int | None, ...]:
    """Reads the size of an input with None for the batch: 20xNx5 is (20, None, 5), 3x64 is (None, 3, 64)."""
    parts = re.split("[x,]", text.lower())
    try:
        found = tuple(None if part == "n" else positive(part) for part in parts)
    except argparse.ArgumentTypeError:
        found = (None, None)
    if found.count(None) > 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a size such as 3x224x224, or 20xNx5 with one N")
    return found if None in found else (None, *found)


def input_size(text: str) -> InputSize:
    """Reads the size of one sample, or several inputs by name: ids:2x128 mask:2x128.

    In square brackets it is the size of a sample of a net that takes a list of them. Each of several is
    NAME:SIZE, samples first, or NAME:SIZE:KIND, which is a number format, or how many different whole
    numbers there are.
    """
    if text.startswith("[") and text.endswith("]"):
        return (Input(LIST, (1, *one_size(text[1:-1]))),)
    if ":" not in text:
        return one_size(text)
    inputs = tuple(_input(part) for part in text.split())
    if len({one.name for one in inputs}) < len(inputs):
        raise argparse.ArgumentTypeError(f"'{text}' names an input twice")
    return inputs


def _input(text: str) -> Input:
    name, _, rest = text.partition(":")
    size, _, kind = rest.partition(":")
    if not name.isidentifier():
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME:SIZE, such as ids:2x128")
    if kind and kind not in DTYPES and not (kind.isascii() and kind.isdigit() and int(kind) > 0):
        accepted = f"{', '.join(DTYPES)}, or how many whole numbers there are, such as ids:2x128:30000"
        raise argparse.ArgumentTypeError(f"'{text}': unknown kind '{kind}'; accepted: {accepted}")
    return Input(name, one_size(size), kind)


def input_sizes(text: str) -> list[tuple[int, ...]]:
    """Reads sizes of one sample, separated by commas: 128,160,224 or 3x128x128,3x160x96."""
    try:
        return list(dict.fromkeys(one_size(part) for part in text.split(",")))
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a list of sizes such as 128,160 or 3x128x128"
        ) from None


def cores(text: str) -> list[int]:
    """Returns an option's processor cores, as 0-3,6; only those that this process may use."""
    if not hasattr(os, "sched_getaffinity"):
        raise argparse.ArgumentTypeError("this system does not let a process choose its cores")
    usable = os.sched_getaffinity(0)
    beyond = max(usable) + 1  # stands for all higher numbers: a range may name billions
    found: set[int] = set()
    for part in text.split(","):
        bounds = re.fullmatch(r"\s*(\d+)(?:-(\d+))?\s*", part)
        if not bounds:
            raise argparse.ArgumentTypeError(f"'{text}' is not a list of cores such as 0-3,6")
        first, last = (min(int(bound), beyond) for bound in (bounds[1], bounds[2] or bounds[1]))
        found.update(range(first, last + 1))
    if not found or not found <= usable:
        have = ",".join(map(str, sorted(usable)))
        raise argparse.ArgumentTypeError(
            f"'{text}' names cores that this process may not use; accepted: {have}"
        )
    return sorted(found)
