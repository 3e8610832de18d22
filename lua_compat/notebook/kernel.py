"""The Jupyter kernel, on ipykernel: its messages, answered by a Lua state in this process."""

import json
import re
import sys
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from ipykernel.kernelapp import IPKernelApp
from ipykernel.kernelbase import Kernel
from IPython.core.error import StdinNotImplementedError

from convnet_benchmarks.nets.version import VERSION
from lua_compat.kernels.strings import from_lua, to_lua
from lua_compat.notebook.streams import Streams
from lua_compat.notebook.tracebacks import with_source
from lua_compat.runtime.completion import completions

if TYPE_CHECKING:
    from lua_compat.runtime.interrupts import Interrupts
    from lua_compat.runtime.state import Runtime

_NAME_BEFORE, _NAME_AFTER = re.compile(r"[\w.:]*$"), re.compile(r"\w*")


class LuaKernel(Kernel):
    """Runs cells; ``attach`` gives it the state."""

    implementation = "itorch"
    implementation_version = VERSION
    banner = "Torch7 on PyTorch"
    language_info = {  # noqa: RUF012  (a trait of Kernel)
        "name": "lua",
        "version": "5.1",
        "mimetype": "text/x-lua",
        "file_extension": ".lua",
        "codemirror_mode": "lua",
        "pygments_lexer": "lua",
    }

    def attach(self, runtime: "Runtime", interrupts: "Interrupts", streams: Streams) -> None:
        """Gives the kernel its Lua state, and what takes the state's output and Ctrl-C."""
        self._runtime, self._interrupts, self._streams = runtime, interrupts, streams
        self._cells: dict[int, str] = {}
        self._parent: Any = None  # the request whose output appears
        self.has_run_cells = False
        runtime.open_notebook(self._show, self._ask, uuid4().hex)
        interrupts.stopper, interrupts.ends_process = runtime.loop_stopper(), False

    def print(self, stream: str, text: str) -> None:
        """Shows text on the page, beneath the cell that runs or ran last. Called in another thread."""
        content = {"name": stream, "text": text}
        session = self.session
        assert session is not None
        session.send(self.iopub_socket, "stream", content, parent=self._parent, ident=self._topic("stream"))

    def _show(self, message: str) -> None:
        """Sends output of a cell to the page: its value, or output of the package itorch."""
        self._runtime.flush()
        self._streams.settle()
        shown = json.loads(from_lua(message).encode("utf-8", "replace"))
        content: dict[str, Any] = {"data": shown["data"], "metadata": shown["metadata"]}
        if shown["kind"] == "execute_result":
            content["execution_count"] = self.execution_count
        else:
            content["transient"] = {"display_id": shown["id"]}
        self.send_response(self.iopub_socket, shown["kind"], content)

    def _ask(self) -> str | None:
        """Returns a line typed into the page; None if the front end cannot ask for one."""
        self._runtime.flush()
        self._streams.settle()
        try:
            return to_lua(self.raw_input())
        except StdinNotImplementedError:
            return None

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: Any = None,
        allow_stdin: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        if not self.has_run_cells:
            self._streams.settle()  # earlier output belongs to no cell
        self._parent, self.has_run_cells = self.get_parent("shell"), True
        self._allow_stdin = allow_stdin
        error = self._run(code, silent)
        self._streams.settle()
        if error is None:
            answer: dict[str, Any] = {"status": "ok", "payload": [], "user_expressions": {}}
        else:
            answer = {"status": "error", **error}
            if not silent:
                self.send_response(self.iopub_socket, "error", error)
        return {"execution_count": self.execution_count, **answer}

    def _run(self, code: str, silent: bool) -> dict[str, Any] | None:
        """Runs a cell; returns the content of the message on its error."""
        if not silent:
            self._cells[self.execution_count] = code
        try:
            self._interrupts.listen()
            problem = self._runtime.run_cell(code, self.execution_count, silent)
        except KeyboardInterrupt:
            return _error("KeyboardInterrupt", "interrupted", ["interrupted"])
        except SystemExit as stop:
            return _error("SystemExit", str(stop.code), [f"os.exit({stop.code}): the notebook goes on"])
        if problem is None:
            return None
        return _error("LuaError", problem.split("\n")[0], with_source(problem, self._cells))

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        start, names = completions(self._runtime.complete, code[:cursor_pos])
        return {
            "status": "ok",
            "matches": names,
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {},
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: Any = ()
    ) -> dict[str, Any]:
        before, after = _NAME_BEFORE.search(code[:cursor_pos]), _NAME_AFTER.match(code[cursor_pos:])
        name = (before[0] if before else "") + (after[0] if after else "")
        text = self._runtime.help(name) if name else None
        data = {} if text is None else {"text/plain": text}
        return {"status": "ok", "found": text is not None, "data": data, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        if self._runtime.is_whole(code):
            return {"status": "complete"}
        return {"status": "incomplete", "indent": "   "}

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        return {"status": "ok", "restart": restart}


def _error(name: str, value: str, traceback: list[str]) -> dict[str, Any]:
    return {"ename": name, "evalue": value, "traceback": traceback}


def run_kernel(runtime: "Runtime", interrupts: "Interrupts", connection_file: str) -> int:
    """Answers the messages of a Jupyter server until it says shutdown; returns the exit code."""
    kernel: LuaKernel | None = None

    def print_text(stream: str, text: str) -> None:
        if kernel is None or not kernel.has_run_cells:
            streams.terminal.write(text)
        else:
            kernel.print(stream, text)

    streams = Streams(print_text)
    sys.stderr = streams.terminal  # the kernel's own messages are not output of cells
    app = IPKernelApp.instance(kernel_class=LuaKernel, capture_fd_output=False)
    app.initialize(["-f", connection_file])
    app.kernel.attach(runtime, interrupts, streams)
    kernel = app.kernel
    app.start()
    return 0
