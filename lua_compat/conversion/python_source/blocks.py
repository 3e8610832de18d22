"""The classes of blocks: blocks that differ only in numbers share a class, which takes the numbers as
arguments."""

import keyword
from collections.abc import Iterator

from lua_compat.conversion.python_source.nodes import Argument, Block, Bound, Literal, Node, call_text


def block_classes(root: Block, taken: set[str]) -> list[str]:
    """Returns the classes needed within ``root``, each after those that it uses.

    Every block becomes a call of its class. ``taken``: names that are in use.
    """
    groups: dict[object, list[Block]] = {}
    for block in _blocks(root):
        groups.setdefault((_height(block), block.key()), []).append(block)
    texts = []
    # The keys include those of inner blocks, so they are computed before any block becomes a call.
    for _, blocks in sorted(groups.items(), key=lambda item: item[0][0]):  # type: ignore[index]
        name = _free_name(blocks[0].kind, taken)
        taken.add(name)
        texts.append(_class(name, blocks))
    return texts


def class_text(name: str, block: Block, bound: Bound, arguments: list[str], more: list[str]) -> str:
    """Returns a class of a forward and the layers for it; ``more``: further lines of its constructor."""
    signature = ["    " + call_text("def __init__", ["self", *arguments], 4) + ":"]
    lines = [f"class {name}(nn.Module):", *signature, "        super().__init__()"]
    for attribute, child in block.children.items():
        begin = f"        self.{attribute} = "
        lines.append(begin + child.text(bound, 8))
    lines += [f"        {line}" for line in more]
    lines += ["", "    def forward(self, input):"]
    return "\n".join([*lines, *(f"        {line}" for line in block.body)])


def _blocks(node: Node) -> Iterator[Block]:
    """Yields the blocks within a node, each after those inside it."""
    for child in node.children.values():
        yield from _blocks(child)
        if isinstance(child, Block):
            yield child


def _height(node: Node) -> int:
    return max((_height(child) for child in node.children.values()), default=0) + isinstance(node, Block)


def _free_name(kind: str, taken: set[str]) -> str:
    number = 1
    while f"{kind}{number}" in taken:
        number += 1
    return f"{kind}{number}"


def _class(name: str, blocks: list[Block]) -> str:
    """Returns the class of blocks of one key, and makes each of them a call of it."""
    places = list(zip(*(_inside(block) for block in blocks), strict=True))
    arguments: dict[tuple[str, ...], str] = {}
    bound = {}
    for place in places:
        texts = tuple(value.text for _, value in place)
        if len(set(texts)) == 1:
            continue
        if texts not in arguments:
            arguments[texts] = _unused(place[0][0], set(arguments.values()))
        bound[id(place[0][1])] = arguments[texts]
    text = class_text(name, blocks[0], bound, list(arguments.values()), [])
    for number, block in enumerate(blocks):
        block.callee = name
        block.arguments = [
            Argument(argument, Literal(texts[number], is_number=True), keyword=False)
            for texts, argument in arguments.items()
        ]
    return text


def _inside(block: Block) -> list[tuple[str, Literal]]:
    return [each for child in block.children.values() for each in child.literals()]


def _unused(name: str, taken: set[str]) -> str:
    name = f"{name}_" if keyword.iskeyword(name) else name
    found, number = name, 1
    while found in taken:
        number += 1
        found = f"{name}{number}"
    return found
