"""What errors quote of files and names reaches neither the terminal nor a log as anything but text."""

from pathlib import Path

import pytest

from lua_compat.printable import printable, printable_lines
from lua_compat.runtime.errors import LuaError
from tests.helpers.commands import run_lua


def test_what_cannot_be_printed_becomes_escapes() -> None:
    assert printable("é\n\x1b[2J\x9b\t\udcff") == "é\\n\\x1b[2J\\x9b\\t\\udcff"
    assert printable_lines("é\n\x1b[2J\t") == "é\n\\x1b[2J\t"


def test_errors_quote_in_one_line(tmp_path: Path) -> None:
    run_lua(
        tmp_path,
        """
        local evil = 'ev\\27[2J\\nil\\127'
        local function in_memory(...)
           local file = torch.MemoryFile():binary()
           for _, part in ipairs{ ... } do
              if type(part) == 'number' then file:writeInt(part)
              else
                 file:writeInt(#part)
                 file:writeChar(torch.CharStorage():string(part))
              end
           end
           return file:seek(1)
        end
        local function fails(f, ...)
           local ok, problem = pcall(f, ...)
           assert(not ok and not problem:find('%c') and problem:find('ev', 1, true), problem)
        end
        local file = in_memory(4, 1, 'V 1', evil)
        fails(file.readObject, file)
        file = in_memory(4, 1, evil)
        fails(file.readObject, file)
        for _, mode in ipairs{ 'r', 'w', 'rw' } do fails(torch.DiskFile, '/no/' .. evil, mode) end
        fails(torch.load, '/no/' .. evil)
        fails(torch.save, '/no/' .. evil, 1)
        fails(torch.serialize, { [evil] = coroutine.create(print) })
        fails(require('npy4th').loadnpy, evil)
        fails(require('hdf5').open, '/no/' .. evil, 'r')
        local _, problem = pcall(require('npy4th').loadnpy, 'né')
        assert(problem:find('né', 1, true), problem)
        """,
    )


def test_an_uncaught_error_keeps_its_lines_and_steers_no_terminal(tmp_path: Path) -> None:
    with pytest.raises(LuaError) as caught:
        run_lua(tmp_path, "error('é\\n\\27[2J', 0)")
    assert str(caught.value).startswith("é\n\\x1b[2J\nstack traceback:\n\t[C]:")
