"""Traversal of inline Markdown, common to HTML and text."""

from lua_compat.kernels.packages.markdown.reading import Node, pieces_of


class Printer:
    """Prints nodes, by one method for each kind."""

    in_link = False

    def inline(self, nodes: list[Node]) -> str:
        return "".join(self.one(node) for node in nodes)

    def said_by(self, link: Node) -> str:
        """Returns the text of a link; addresses in it are not made links."""
        self.in_link = True
        try:
            return self.inline(link.children)
        finally:
            self.in_link = False

    def one(self, node: Node) -> str:
        assert node.token is not None
        children = [child for child in node.children if not child.is_empty]
        if node.kind in ("em", "strong") and len(children) == 1:
            inner = children[0]
            if {node.kind, inner.kind} == {"em", "strong"}:
                return self.triple(self.inline(inner.children))
        if node.kind in ("text", "text_special"):
            pieces = [(node.token.content, "")] if self.in_link else pieces_of(node.token.content)
            return "".join(self.auto(piece, to) if to else self.text(piece) for piece, to in pieces)
        if node.kind == "softbreak":
            return "\n"
        return str(getattr(self, node.kind)(node))

    def inline_of(self, node: Node) -> str:
        """Returns the text of a block that holds only text."""
        return "".join(self.inline(child.children) for child in node.children)

    def link_parts(self, node: Node) -> tuple[str, str]:
        assert node.token is not None
        return str(node.token.attrGet("href") or ""), str(node.token.attrGet("title") or "")

    def image_parts(self, node: Node) -> tuple[str, str, str]:
        assert node.token is not None
        return (
            str(node.token.attrGet("src") or ""),
            str(node.token.attrGet("title") or ""),
            node.token.content,
        )

    def auto(self, text: str, to: str) -> str:
        raise NotImplementedError

    def text(self, text: str) -> str:
        raise NotImplementedError

    def triple(self, text: str) -> str:
        raise NotImplementedError
