"""Telling Jupyter of the kernel: ``th --install-kernel``."""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import ipykernel  # noqa: F401  (without which the kernel would not start)
from jupyter_client.kernelspec import KernelSpecManager

NAME, DISPLAY_NAME = "itorch", "iTorch"


class CannotInstall(Exception):
    """The kernel's description could not be written."""


def install(options: Sequence[str], *, user: bool = False, prefix: str | None = None) -> str:
    """Writes the description that Jupyter starts the kernel by, and returns its folder.

    It goes to where Jupyter looks for kernels of the user, or under ``prefix``. ``options``: those of th that
    the kernel is to have. Raises CannotInstall.
    """
    description = {
        "argv": [sys.executable, "-m", "lua_compat", *options, "--kernel", "{connection_file}"],
        "display_name": DISPLAY_NAME,
        "language": "lua",
        "interrupt_mode": "signal",
        "env": {"PYDEVD_DISABLE_FILE_VALIDATION": "1"},  # a debugger of Python's that nobody asks for a note
    }
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "kernel.json").write_text(json.dumps(description, indent=1) + "\n")
        try:
            return str(
                KernelSpecManager().install_kernel_spec(folder, kernel_name=NAME, user=user, prefix=prefix)
            )
        except OSError as error:
            instead = "" if user else "; with --user it goes into your own folder"
            raise CannotInstall(f"{error.filename}: {error.strerror}{instead}") from None
