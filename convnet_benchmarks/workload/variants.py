"""The variants that studies compare: a backend, its number format, variables of the environment."""

from dataclasses import dataclass, field

from convnet_benchmarks.errors import UserError, unknown
from convnet_benchmarks.workload import backends
from convnet_benchmarks.workload.devices import DTYPES

FORM = "BACKEND[:DTYPE][+VARIABLE=VALUE...]"
SHORT = {"bf16": "stock:bfloat16"}


@dataclass(frozen=True)
class Variant:
    """``name`` as it was typed."""

    name: str
    backend: backends.Backend
    dtype: str
    variables: dict[str, str] = field(default_factory=dict)


def find(text: str, dtype: str, option: str) -> Variant:
    """Returns the variant that ``option`` names as FORM says; ``dtype`` where it names none. Raises
    UserError.
    """
    parts = SHORT.get(text, text).split("+")
    name, colon, own_dtype = parts[0].partition(":")
    if name not in backends.BACKENDS:
        raise UserError(f"option {option}: {unknown('backend', name, [*backends.BACKENDS, *SHORT])}")
    if colon and own_dtype not in DTYPES:
        raise UserError(f"option {option}: {unknown('number format', own_dtype, DTYPES)}")
    variables = {}
    for part in parts[1:]:
        variable, equals, value = part.partition("=")
        if not variable or not equals:
            raise UserError(f"option {option}: '{part}' in '{text}' is not VARIABLE=VALUE")
        variables[variable] = value
    return Variant(text, backends.BACKENDS[name], own_dtype or dtype, variables)
