"""Registers the kernel with Jupyter: ``th --install-kernel``."""

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
    """Writes the kernel's description for Jupyter, and returns its folder.

    It is written to where Jupyter looks for the user's kernels, or below ``prefix``. ``options``: options of
    th for the kernel. Raises CannotInstall.
    """
    description = {
        "argv": [sys.executable, "-m", "lua_compat", *options, "--kernel", "{connection_file}"],
        "display_name": DISPLAY_NAME,
        "language": "lua",
        "interrupt_mode": "signal",
        "env": {"PYDEVD_DISABLE_FILE_VALIDATION": "1"},  # silences a note of Python's debugger
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
