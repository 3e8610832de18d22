"""Damaged files of packages whose libraries they end: an error that names the file, and nothing else."""

from pathlib import Path

import pytest

from tests.helpers.commands import run_lua
from tests.helpers.places import DATA


def test_damaged_files_of_matlab(tmp_path: Path) -> None:
    pytest.importorskip("scipy")
    run_lua(
        tmp_path,
        """
        local matio = require 'matio'
        matio.save(arg[2] .. '/good.mat', { x = torch.range(1, 3) })
        for _ = 1, 2 do
           for _, name in ipairs{ 'segv', 'sigbus' } do
              local path = ('%s/damaged_%s.mat'):format(arg[1], name)
              local ok, problem = pcall(matio.load, path)
              assert(not ok and problem:find(path .. ' cannot be read: ', 1, true), problem)
              assert(not problem:find('\\n'))
           end
           assert(matio.load(arg[2] .. '/good.mat').x[3][1] == 3)
        end
        """,
        str(DATA),
        str(tmp_path),
    )


def test_what_matlab_has_and_torch7_does_not(tmp_path: Path) -> None:
    scipy_io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")
    scipy_io.savemat(tmp_path / "sparse.mat", {"s": sparse.eye(3, format="csc"), "x": [[1.0]]})
    scipy_io.savemat(tmp_path / "other.mat", {"x": [[1.0]]})
    data = bytearray((tmp_path / "other.mat").read_bytes())
    data[144] = 99  # the class of x, of which there are 18
    (tmp_path / "other.mat").write_bytes(data)
    run_lua(
        tmp_path,
        """
        local matio = require 'matio'
        for name, words in pairs{ sparse = 's: a sparse matrix, which Torch7 has no tensors of',
           other = 'it is damaged' } do
           local ok, problem = pcall(matio.load, ('%s/%s.mat'):format(arg[1], name))
           assert(not ok and problem:find(name .. '.mat cannot be read: ' .. words, 1, true), problem)
        end
        assert(matio.load(arg[1] .. '/sparse.mat', 'x')[1][1] == 1)
        """,
        str(tmp_path),
    )


def test_databases_that_end_too_early(tmp_path: Path) -> None:
    pytest.importorskip("lmdb")
    run_lua(
        tmp_path,
        """
        require 'lmdb'
        local function opened(name)
           local db = lmdb.env{ Path = arg[1] .. '/' .. name, MapSize = 2 ^ 22 }
           db:open()
           return db
        end
        for _, name in ipairs{ 'good', 'short' } do
           local db = opened(name)
           local txn = db:txn()
           for i = 1, 500 do txn:put(i, ('v'):rep(100)) end
           txn:commit()
           db:close()
        end
        local file = io.open(arg[1] .. '/short/data.mdb', 'r+')
        local data = file:read('*a')
        file:close()
        file = io.open(arg[1] .. '/short/data.mdb', 'w')
        file:write(data:sub(1, 9000))
        file:close()

        local short, good = opened 'short', opened 'good'
        local reader = good:txn(true)
        local txn = short:txn(true)
        for _ = 1, 2 do
           local ok, problem = pcall(txn.get, txn, 7)
           assert(not ok and problem:find('/short: the database is damaged (LMDB: SIGBUS)', 1, true), problem)
        end
        assert(reader:get(7) == ('v'):rep(100))
        assert(not pcall(short.txn, short, true))
        short:close()
        assert(not pcall(txn.get, txn, 7))
        good:close()
        """,
        str(tmp_path),
    )
