"""Markdown as a tree, read by markdown-it-py.

The language is CommonMark with Sundown's additions: tables, strikethrough, no emphasis within words,
superscript (``a^b`` and ``a^(b c)``), automatic links, and HTML blocks only where a block's tag begins them.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.html_block import html_block
from markdown_it.rules_inline import StateInline, emphasis
from markdown_it.token import Token

_BLOCK_TAG = re.compile(
    r" {0,3}<(?:!--|hr\b|/?(?:p|dl|h[1-6]|ol|ul|del|div|ins|pre|form|math|table|figure|iframe|script|style|"
    r"fieldset|noscript|blockquote)\b)",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"(?<![A-Za-z0-9])((?:https?|ftp)://[^\s<]+|www\.[^\s<]+)"
    r"|([A-Za-z0-9.+_-]+@[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)+)"
)
_PARENTHESES = {")": "(", "]": "[", "}": "{", '"': '"', "'": "'"}


@dataclass
class Node:
    """A token with the nodes up to its closing token."""

    token: Token | None
    children: list["Node"] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return self.token.type.removesuffix("_open") if self.token else ""

    @property
    def is_empty(self) -> bool:
        return self.kind == "text" and self.token is not None and not self.token.content


def _superscript(state: StateInline, silent: bool) -> bool:
    text, start = state.src, state.pos
    if text[start] != "^" or silent:
        return False
    grouped = text[start + 1 : start + 2] == "("
    match = re.compile(r"\^\(((?:\\.|[^)\\])*)\)" if grouped else r"\^([^\s]+)").match(text, start)
    if not match or not match[1]:
        return False
    state.push("sup_open", "sup", 1)
    state.md.inline.parse(match[1], state.md, state.env, state.tokens)
    state.push("sup_close", "sup", -1)
    state.pos = match.end()
    return True


def _outside_words(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Restricts the rule for * and _ to markers outside words."""

    def tokenize(state: StateInline, silent: bool) -> bool:
        start, known = state.pos, len(state.delimiters)
        if not rule(state, silent):
            return False
        before, after = state.src[start - 1 : start], state.src[state.pos : state.pos + 1]
        for delimiter in state.delimiters[known:]:
            delimiter.open = delimiter.open and (not before or before.isspace() or before in ">*_~")
            delimiter.close = delimiter.close and not after.isalnum()
        return True

    return tokenize


def _parser() -> MarkdownIt:
    def block_of_html(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        line = state.src[state.bMarks[start] : state.eMarks[start]]
        return bool(_BLOCK_TAG.match(line)) and html_block(state, start, end, silent)

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable(["entity"])
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    parser.block.ruler.at("html_block", block_of_html, {"alt": ["paragraph", "reference", "blockquote"]})
    parser.inline.ruler.at("emphasis", _outside_words(emphasis.tokenize))
    parser.inline.ruler.push("superscript", _superscript)
    return parser


def _tree(tokens: list[Token]) -> list[Node]:
    root = Node(None)
    open_nodes = [root]
    for token in tokens:
        if token.nesting < 0:
            open_nodes.pop()
            continue
        node = Node(token, _tree(token.children) if token.children else [])
        open_nodes[-1].children.append(node)
        if token.nesting > 0:
            open_nodes.append(node)
    return root.children


def _as_written(text: str) -> str:
    """Returns a text with normalized line ends and expanded tabs, as Sundown does."""
    return text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(4)


def _link_in(text: str) -> str:
    """Returns an address without the punctuation that follows it in a sentence."""
    while True:
        if text[-1:] in "?!.," and text:
            text = text[:-1]
        elif text.endswith(";"):
            text = re.sub(r"(?:&[A-Za-z]+)?;$", "", text)
        elif text[-1:] in _PARENTHESES and text.count(text[-1]) > (
            text.count(_PARENTHESES[text[-1]]) if text[-1] in ")]}" else 1
        ):
            text = text[:-1]
        else:
            return text


def pieces_of(text: str) -> Iterator[tuple[str, str]]:
    """Yields the parts of a text, each with its link's address or an empty string."""
    place = 0
    for match in _ADDRESS.finditer(text):
        address = _link_in(match[0])
        if match.start() < place or "." not in address.rpartition("//")[2].partition("/")[0]:
            continue
        if match.start() > place:
            yield text[place : match.start()], ""
        scheme = "mailto:" if match[2] else "http://" if address.startswith("www.") else ""
        yield address, scheme + address
        place = match.start() + len(address)
    if place < len(text):
        yield text[place:], ""


def parts(table: Node) -> tuple[list[Node], list[Node]]:
    """Returns the rows of a table's head and of its body."""
    head, *body = table.children
    return head.children, body[0].children if body else []


def alignment(cell: Node) -> str:
    assert cell.token is not None
    return str(cell.token.attrGet("style") or "").removeprefix("text-align:")


def read(text: str) -> list[Node]:
    """Returns the blocks of a Markdown page."""
    return _tree(_parser().parse(_as_written(text)))
