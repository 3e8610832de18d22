"""``th`` without a script: the interactive prompt, on prompt_toolkit."""

import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lua_compat.runtime.completion import completions

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.key_binding import KeyBindings

    from lua_compat.runtime.interrupts import Interrupts
    from lua_compat.runtime.state import Runtime

PROMPT, CONTINUATION = "th> ", "..> "


def history_file() -> Path:
    """Returns where typed lines are kept: $TREPL_HISTORY, or a file in the user's folder for state."""
    named = os.environ.get("TREPL_HISTORY")
    if named:
        return Path(named)
    import platformdirs

    return platformdirs.user_state_path("convnet-benchmarks", appauthor=False) / "th_history"


def run_prompt(runtime: "Runtime", interrupts: "Interrupts") -> int:
    """Reads and runs lines until Ctrl-D or ``exit``; returns the exit code. A terminal needs prompt_toolkit.

    Ctrl-C stops the running line; ``interrupts`` is told how. For lines from a pipe there is no prompt.
    """
    runtime.open_prompt(colored=sys.stdout.isatty() and "NO_COLOR" not in os.environ)
    interrupts.stopper = runtime.loop_stopper()
    read = _terminal(runtime) if sys.stdin.isatty() else lambda: _from_pipe(runtime)
    while True:
        try:
            text = read()
        except KeyboardInterrupt:
            continue
        except EOFError:
            return 0
        interrupts.listen()
        try:
            code = runtime.evaluate(text)
        except KeyboardInterrupt:
            print("interrupted", file=sys.stderr)
            continue
        if code is not None:
            return code


def _terminal(runtime: "Runtime") -> Callable[[], str]:
    from prompt_toolkit.output import ColorDepth

    session = _session(runtime)
    print("Torch7 on PyTorch. ? shows what the prompt can do, Ctrl-D or exit leaves.")
    return lambda: session.prompt(PROMPT, color_depth=ColorDepth.default())


def _from_pipe(runtime: "Runtime") -> str:
    """Returns the lines up to the next that completes them. Raises EOFError at the end."""
    text = ""
    for line in sys.stdin:
        text += line
        if runtime.is_whole(text):
            break
    if not text:
        raise EOFError
    return text


def _session(runtime: "Runtime") -> "PromptSession[str]":
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    path = history_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        history: FileHistory | InMemoryHistory = FileHistory(str(path))
    except OSError as error:
        print(f"th: lines are not kept: {path}: {error.strerror}", file=sys.stderr)
        history = InMemoryHistory()
    return PromptSession(
        history=history,
        completer=_completer(runtime),
        complete_while_typing=False,
        enable_history_search=True,
        multiline=True,
        prompt_continuation=lambda *_: CONTINUATION,
        key_bindings=_keys(runtime),
    )


def _keys(runtime: "Runtime") -> "KeyBindings":
    """Makes Enter run complete input, and start a new line in incomplete input."""
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if runtime.is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    return keys


def _completer(runtime: "Runtime") -> "Completer":
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document

    class LuaCompleter(Completer):
        """Names that Lua knows; inside quotes, files."""

        def get_completions(self, document: Document, event: CompleteEvent) -> Iterable[Completion]:
            before = document.text_before_cursor
            start, names = completions(runtime.complete, before)
            for name in names:
                yield Completion(name, start_position=start - len(before))

    return LuaCompleter()
