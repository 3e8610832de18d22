"""Markdown as text for a terminal."""

import re

from lua_compat.kernels.packages.markdown.reading import Node, alignment, parts
from lua_compat.kernels.packages.markdown.within_lines import Printer

_CODE = re.compile(r"\x1b\[[\d;]*m")
_BLANKS = re.compile(r"[ \t\n\v\f\r]+")
_LINE_BREAK = "\x1d"  # a line break inside a list item, until it is printed


def _size(text: str) -> int:
    """Returns a text's width, with words one space apart and without color codes."""
    return len(" ".join(word for word in _BLANKS.split(_CODE.sub("", text)) if word))


class Text(Printer):
    """Text for a terminal: ``style`` has the escape sequence of each kind of text; ``none`` ends it."""

    def __init__(self, style: dict[str, str]) -> None:
        self.style = style

    def styled(self, kind: str, text: str) -> str:
        return self.style[kind] + text + self.style["none"]

    def indented(self, text: str, indent: int) -> list[str]:
        out = []
        for line, breaks in re.findall(r"([^\n]+)(\n*)", text):
            out += [" " * indent + line, *[""] * (len(breaks) - 1)]
        return out

    def justified(self, text: str, indent: int, width: int) -> str:
        lines: list[str] = []
        line: list[str] = []
        taken = 0
        for word in _BLANKS.split(text):
            if not word:
                continue
            size = len(_CODE.sub("", word)) + 1
            if taken + size > width - indent and line:
                lines.append(" " * indent + " ".join(line))
                line, taken = [], 0
            line.append(word)
            taken += size
        if line:
            lines.append(" " * indent + " ".join(line))
        return "\n".join(lines)

    def blocks(self, nodes: list[Node], indent: int, width: int, mark: str = "") -> list[str]:
        """Returns lines. ``mark`` precedes the first text: a list's bullet or number."""
        out: list[str] = []
        for node in nodes:
            assert node.token is not None
            if node.kind == "paragraph" and node.token.hidden:
                out += self.lines_of(mark + self.inline_of(node), indent, width)
            elif node.kind == "paragraph":
                out += ["", self.justified(mark + self.inline_of(node), indent, width)]
            elif node.kind == "heading":
                level = int(node.token.tag[1])
                text = mark + self.styled(f"h{level}", self.inline_of(node))
                indent = level
                rule = self.styled(f"h{level}", "+" * (width - indent + 1))
                out += ["", *self.indented(rule, indent - 1), self.justified(text, indent - 1, width)]
            elif node.kind in ("fence", "code_block"):
                out += ["", *self.indented(mark + self.styled("code", node.token.content), indent)]
            elif node.kind == "blockquote":
                begin, end = (
                    [self.justified(code, indent + 5, width - 5)] if code else []
                    for code in (self.style["blockquote"], self.style["none"])
                )
                out += ["", *begin, *self.blocks(node.children, indent + 5, width - 5, mark), *end]
            elif node.kind == "hr":
                out += ["", *self.indented(self.styled("hrule", "_" * (width - indent)), indent)]
            elif node.kind == "table":
                out += self.table(node, indent)
            elif node.kind in ("bullet_list", "ordered_list"):
                out += ["", *self.items(node, indent + 3, width), ""]
            mark = ""
        return out

    def lines_of(self, text: str, indent: int, width: int) -> list[str]:
        """Returns the lines of a list item's text."""
        first, *others = text.split(_LINE_BREAK)
        out = [self.justified(first, indent, width)]
        for other in others:
            out += ["", *([self.justified(other, indent, width)] if other else [])]
        return out

    def items(self, node: Node, indent: int, width: int) -> list[str]:
        out = []
        for number, item in enumerate(node.children, 1):
            kind, mark = ("olist", f"{number}. ") if node.kind == "ordered_list" else ("ulist", "* ")
            out += self.blocks(item.children, indent, width, self.styled(kind, mark))
        return out

    def table(self, node: Node, indent: int) -> list[str]:
        def cells(rows: list[Node]) -> list[list[tuple[str, str]]]:
            return [[(self.cell(one), alignment(one)) for one in row.children] for row in rows]

        head, body = (cells(part) for part in parts(node))
        widths = [
            max(map(_size, column))
            for column in zip(*([c for c, _ in row] for row in head + body), strict=True)
        ]
        rule = " " + "-" * (sum(widths) + 3 * (len(widths) - 1) + 2)

        def line(row: list[tuple[str, str]]) -> str:
            padded = []
            for (text, align), width in zip(row, widths, strict=True):
                left = width - _size(text)
                before = left if align == "right" else left // 2 if align == "center" else 0
                padded.append(" " * before + text + " " * (left - before))
            return f"| {' | '.join(padded)} |"

        lines = [rule, *map(line, head), rule, *map(line, body), rule]
        return [found for one in lines for found in self.indented(one, indent)]

    def cell(self, node: Node) -> str:
        text = self.inline_of(node)
        return self.styled("tableheader", text) if node.kind == "th" else text

    def text(self, text: str) -> str:
        return re.sub("[\x1d\x1e\x1f]", "", text)

    def auto(self, text: str, to: str) -> str:
        return self.styled("link", text)

    def triple(self, text: str) -> str:
        return self.styled("tripleemph", text)

    def em(self, node: Node) -> str:
        kinds = {"em": "emph", "strong": "doubleemph", "s": "strikethrough", "sup": "superscript"}
        return self.styled(kinds[node.kind], self.inline(node.children))

    strong = s = sup = em

    def code_inline(self, node: Node) -> str:
        assert node.token is not None
        return self.styled("code", node.token.content.strip(" "))

    def hardbreak(self, node: Node) -> str:
        return _LINE_BREAK

    def html_inline(self, node: Node) -> str:
        return ""

    def link(self, node: Node) -> str:
        address, _ = self.link_parts(node)
        if node.token and node.token.info == "auto":
            return self.auto(self.said_by(node), address)
        content = self.said_by(node)
        text = self.styled("linkcontent", content) if content else ""
        return (
            text
            if address.startswith("#") or not address
            else f"{text} {self.styled('link', f'[{address}]')}"
        )

    def image(self, node: Node) -> str:
        address, title, alt = self.image_parts(node)
        return f"{self.style['image']}[image: {title or alt or address}]{self.style['none']}"
