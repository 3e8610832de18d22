"""The command ``convnet-benchmarks``: help, unknown commands, how failures end."""

import errno

import pytest

from convnet_benchmarks.cli import SUBCOMMANDS, study_names
from convnet_benchmarks.errors import OutOfDeviceMemoryError, UserError, run_command

COMMAND = ("-m", "convnet_benchmarks")


@pytest.mark.parametrize("arguments", [(), ("--help",), ("-h",), ("help",)])
def test_help_lists_the_commands(run_python, arguments):
    done = run_python(*COMMAND, *arguments)
    assert done.returncode == 0
    assert all(name in done.stdout for name in SUBCOMMANDS)


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_command_explains_itself(run_python, name):
    done = run_python(*COMMAND, name, "--help")
    assert done.returncode == 0 and "usage: convnet-benchmarks " + name in done.stdout


def test_an_unknown_command_is_one_line_and_exit_2(run_python):
    done = run_python(*COMMAND, "bnechmark")
    assert done.returncode == 2
    accepted = ", ".join([*SUBCOMMANDS, *study_names()])
    assert done.stderr == f"convnet-benchmarks: unknown command 'bnechmark'; accepted: {accepted}\n"


def raising(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (UserError("option -x: no"), 2, "p: option -x: no\n"),
        (OutOfDeviceMemoryError("too much"), 3, "p: too much\n"),
        (KeyboardInterrupt(), 130, "p: interrupted\n"),
        (BrokenPipeError(), 0, ""),
        (
            OSError(errno.ENOSPC, "No space left on device"),
            2,
            "p: cannot write to standard output: No space left on device\n",
        ),
    ],
)
def test_failures_end_as_promised(capsys, error, code, message):
    assert run_command("p", raising(error)) == code
    assert capsys.readouterr().err == message


def test_a_defect_of_ours_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        run_command("p", raising(ZeroDivisionError()))
