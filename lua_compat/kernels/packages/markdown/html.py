"""Markdown as the HTML that Sundown printed."""

import re

from lua_compat.kernels.packages.markdown.reading import Node, alignment, parts
from lua_compat.kernels.packages.markdown.within_lines import Printer

_ENTITY = re.compile(r"(&#?[A-Za-z0-9]+;)")
_SAFE_IN_ADDRESS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.+!*(),%#@?=;:/,+$")


def _escaped(text: str) -> str:
    return "".join(
        {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}.get(c, c) for c in text
    )


def _address(text: str) -> str:
    special = {"&": "&amp;", "'": "&#x27;"}
    return "".join(special.get(c) or (c if c in _SAFE_IN_ADDRESS else f"%{ord(c):02X}") for c in text)


class Html(Printer):
    def blocks(self, nodes: list[Node]) -> str:
        out = ""
        for node in nodes:
            assert node.token is not None
            if node.kind == "paragraph" and node.token.hidden:
                out += self.inline_of(node) + "\n"
                continue
            out += ("\n" if out else "") + str(getattr(self, node.kind)(node))
        return out

    def paragraph(self, node: Node) -> str:
        return f"<p>{self.inline_of(node)}</p>\n"

    def heading(self, node: Node) -> str:
        assert node.token is not None
        return f"<{node.token.tag}>{self.inline_of(node)}</{node.token.tag}>\n"

    def fence(self, node: Node) -> str:
        assert node.token is not None
        names = [name.removeprefix(".") for name in node.token.info.split()]
        kind = f' class="{" ".join(map(_escaped, names))}"' if names else ""
        return f"<pre><code{kind}>{_escaped(node.token.content)}</code></pre>\n"

    code_block = fence

    def blockquote(self, node: Node) -> str:
        return f"<blockquote>\n{self.blocks(node.children)}</blockquote>\n"

    def bullet_list(self, node: Node) -> str:
        tag = "ol" if node.kind == "ordered_list" else "ul"
        items = "".join(f"<li>{self.blocks(item.children).rstrip(chr(10))}</li>\n" for item in node.children)
        return f"<{tag}>\n{items}</{tag}>\n"

    ordered_list = bullet_list

    def hr(self, node: Node) -> str:
        return "<hr>\n"

    def html_block(self, node: Node) -> str:
        assert node.token is not None
        return node.token.content.strip("\n") + "\n"

    def table(self, node: Node) -> str:
        def rows(part: list[Node]) -> str:
            return "".join(f"<tr>\n{''.join(map(cell, row.children))}</tr>\n" for row in part)

        def cell(one: Node) -> str:
            align = alignment(one)
            place = f' align="{align}"' if align else ""
            return f"<{one.kind}{place}>{self.inline_of(one)}</{one.kind}>\n"

        head, body = parts(node)
        return f"<table><thead>\n{rows(head)}</thead><tbody>\n{rows(body)}</tbody></table>\n"

    def text(self, text: str) -> str:
        return "".join(
            piece if _ENTITY.fullmatch(piece) else _escaped(piece) for piece in _ENTITY.split(text)
        )

    def auto(self, text: str, to: str) -> str:
        return f'<a href="{_address(to)}">{_escaped(text)}</a>'

    def triple(self, text: str) -> str:
        return f"<strong><em>{text}</em></strong>"

    def em(self, node: Node) -> str:
        assert node.token is not None
        tag = {"s": "del"}.get(node.token.tag, node.token.tag)
        return f"<{tag}>{self.inline(node.children)}</{tag}>"

    strong = s = sup = em

    def code_inline(self, node: Node) -> str:
        assert node.token is not None
        return f"<code>{_escaped(node.token.content.strip(' '))}</code>"

    def hardbreak(self, node: Node) -> str:
        return "<br>\n"

    def html_inline(self, node: Node) -> str:
        assert node.token is not None
        return node.token.content

    def link(self, node: Node) -> str:
        address, title = self.link_parts(node)
        said = f'" title="{_escaped(title)}' if title else ""
        return f'<a href="{_address(address)}{said}">{self.said_by(node)}</a>'

    def image(self, node: Node) -> str:
        address, title, alt = self.image_parts(node)
        said = f'" title="{_escaped(title)}' if title else ""
        return f'<img src="{_address(address)}" alt="{_escaped(alt)}{said}">'
