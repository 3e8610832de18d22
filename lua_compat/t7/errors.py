"""The error for a malformed .t7 file."""


class T7FormatError(ValueError):
    """The file is not a .t7 file, is cut short, or contradicts itself.

    ``offset`` is the byte at which it was noticed, ``path`` the path in the object tree being read
    (``root.modules[3].weight``).
    """

    def __init__(self, problem: str, offset: int, path: str = "root") -> None:
        super().__init__(problem, offset, path)
        self.problem = problem
        self.offset = offset
        self.path = path

    def __str__(self) -> str:
        return f"{self.problem} (at byte {self.offset}, {self.path})"
