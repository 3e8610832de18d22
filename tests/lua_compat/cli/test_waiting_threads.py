"""PyTorch's threads sleep while they wait, unless the user has said how they wait."""

import os
import subprocess
import sys

import pytest

WAYS = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME", "KMP_LIBRARY")


@pytest.mark.parametrize("given", [{}, *({name: "1"} for name in WAYS[1:]), {"OMP_WAIT_POLICY": "ACTIVE"}])
@pytest.mark.parametrize("options", [(), ("--cpu-as-cuda",)])
def test_what_a_script_finds_in_its_environment(given: dict[str, str], options: tuple[str, ...]) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in WAYS} | given
    command = [sys.executable, "-m", "lua_compat", *options, "-e", "print(os.getenv('OMP_WAIT_POLICY'))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == (given.get("OMP_WAIT_POLICY", "nil") if given else "PASSIVE"), done.stderr
