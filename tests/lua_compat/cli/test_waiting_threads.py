"""PyTorch's threads wait briefly before they sleep, unless the user has said how they wait."""

import os
import subprocess
import sys

import pytest

WAYS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


@pytest.mark.parametrize(
    "given", [{}, {"GOMP_SPINCOUNT": "7"}, *({name: "1"} for name in WAYS if name[0] != "G")]
)
@pytest.mark.parametrize("options", [(), ("--cpu-as-cuda",)])
def test_what_a_script_finds_in_its_environment(given: dict[str, str], options: tuple[str, ...]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in WAYS} | given
    command = [sys.executable, "-m", "lua_compat", *options, "-e", "print(os.getenv('GOMP_SPINCOUNT'))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    wanted = given.get("GOMP_SPINCOUNT", "nil") if given else "1000"
    assert done.stdout.strip() == wanted, done.stderr
