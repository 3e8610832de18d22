"""What Lua prints, and whether two tensors of Lua agree."""

import pytest

from lua_compat.runtime.state import Runtime


def printed(runtime: Runtime, capfd: pytest.CaptureFixture[str], code: str) -> str:
    capfd.readouterr()
    runtime.run_string(code)
    return capfd.readouterr().out


def close(runtime: Runtime, code: str) -> None:
    """``code`` gives two tensors that must agree to 1e-5 of the larger one's largest value."""
    runtime.run_string(f"""
        local a, b = (function() {code} end)()
        a, b = a:double(), b:double()
        assert(a:isSameSizeAs(b), 'sizes differ')
        local error, size = (a - b):abs():max(), b:abs():max()
        assert(size > 0 and error <= 1e-5 * size, ('%g of %g'):format(error, size))
    """)
