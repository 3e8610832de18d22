"""The errors for a model that cannot be converted."""


class ConversionError(ValueError):
    """A module that cannot be converted. ``path``: its path in the model (``net.modules[3]``)."""

    def __init__(self, problem: str, path: str) -> None:
        super().__init__(problem, path)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


class CannotTraceError(ValueError):
    """A module does something that cannot be expressed in layers; the message names it."""
