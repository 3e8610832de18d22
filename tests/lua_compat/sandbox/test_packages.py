"""Our packages in plain Lua open no doors in the sandbox: they reach no file, and run no program."""

from pathlib import Path

import pytest

from tests.lua_compat.sandbox.test_sandbox import sandboxed

SECRET = "told to nobody"
# What each tries. FILE in FOLDER holds the secret; NEW is a file there that must not be made.
ATTEMPTS = """
    require('pl.utils').readfile(FILE)
    require('pl.utils').readlines(FILE)
    require('pl.utils').writefile(NEW, 'x')
    require('pl.utils').execute('touch ' .. NEW)
    require('pl.utils').executeex('cat ' .. FILE)
    require('pl.utils').load('return io.open(...):read()', 'x', 't')(FILE)
    require('pl.utils').string_lambda('|f| io.open(f):read()')(FILE)
    require('pl.compat').execute('touch ' .. NEW)
    require('pl.compat').load('return os.execute(...)')('touch ' .. NEW)
    require('pl.compat').getfenv(print).io.open(FILE):read()
    require('pl.path').exists(FILE)
    require('pl.path').isfile(FILE)
    require('pl.path').isdir(FOLDER)
    require('pl.path').getsize(FILE)
    require('pl.path').attrib(FILE, 'size')
    require('pl.path').dir(FOLDER)()
    require('pl.path').mkdir(NEW)
    require('pl.path').chdir(FOLDER)
    require('pl.path').tmpname()
    require('pl.path').rmdir(FOLDER)
    require('pl.dir').getfiles(FOLDER)[1]
    require('pl.dir').getallfiles(FOLDER)[1]
    require('pl.dir').copyfile(FILE, NEW)
    require('pl.dir').movefile(FILE, NEW)
    require('pl.dir').makepath(NEW)
    require('pl.dir').rmtree(FOLDER)
    require('pl.dir').walk(FOLDER)()
    require('pl.file').read(FILE)
    require('pl.file').write(NEW, 'x')
    require('pl.file').copy(FILE, NEW)
    require('pl.file').delete(FILE)
    require('pl.file').access_time(FILE)
    require('pl.app').require_here(FOLDER)
    require('pl.config').read(FILE)
    require('pl.data').read(FILE)
    require('pl.pretty').dump({}, NEW)
    require('pl.pretty').load('{ x = io.open(FILE):read() }', { FILE = FILE, io = io })
    require('pl.template').substitute('$(io.open(FILE):read())', { io = io, FILE = FILE })
    require('pl.xml').parse(FILE, true)
    require('pl.text').dedent(io.open(FILE):read())
    require('pl.comprehension').new()('io.open(x):read() for x')({ FILE })[1]
    require('pl') and file.read(FILE)
    require('moses').bind(io.open, FILE)():read()
    require('argcheck'){ { name = 'f' }, call = function(f) return io.open(f):read() end }(FILE)
    require('totem').Tester():_assert_sub(io.open(NEW, 'w'), 'made')
    require('optnet').optimizeMemory(nn.Linear(2, 2), torch.ones(2), { mode = io.open(FILE):read() })
    require('unsup').kmeans(torch.randn(4, 2), 2, 1, 4, function() error(io.open(FILE):read()) end)
    require('argcheck.doc').record() and require('argcheck.doc').stop(NEW)
"""
CASES = [line.strip() for line in ATTEMPTS.strip().splitlines()]


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with a file, beside the script's folder and not in it."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "file").write_text(SECRET)
    return folder


@pytest.fixture(scope="module")
def answers(locked: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns what each attempt gave, as text; what was refused gave an error, nil or false."""
    tries = "\n".join(f"try({case!r}, function() return {case} end)" for case in CASES)
    script = f"""
        local FOLDER = '{locked}'
        local FILE, NEW = FOLDER .. '/file', FOLDER .. '/new'
        local pcall, tostring, answers = pcall, tostring, {{}}
        local function try(name, f)
           local ok, value = pcall(f)
           local said = tostring(value)
           answers[name] = not ok and 'error: ' .. said or value and 'DONE ' .. said or ''
        end
        {tries}
        return answers
    """
    outcome, _ = sandboxed(tmp_path_factory.mktemp("script"), script)
    assert (outcome.exit_code, outcome.message) == (0, "")
    (found,) = outcome.values
    return {name: found[name] for name in CASES}


@pytest.mark.parametrize("case", CASES)
def test_every_attempt_fails(case: str, answers: dict[str, str], locked: Path) -> None:
    assert not answers[case].startswith("DONE"), answers[case]
    assert SECRET not in answers[case]
    assert [path.name for path in locked.iterdir()] == ["file"]
    assert (locked / "file").read_text() == SECRET
