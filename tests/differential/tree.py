"""Statements as trees: what is generated, printed and made smaller.

A node prints its parts one after the other. It has the type of the value that it stands for (an expression), or is a
piece of a statement that may be left out (`optional`), or a list whose elements may be left out one by one. A smaller
statement is the tree with one of its nodes replaced.
"""

from __future__ import annotations

from typing import Iterator, Union

Part = Union[str, "Node"]


class Node:
    """A piece of SQL. `type`: of the expression that it is, else empty."""

    __slots__ = ("type", "parts", "optional", "separator")

    def __init__(self, *parts: Part, type: str = "", optional: bool = False, separator: str | None = None):
        self.parts = list(parts)
        self.type = type
        self.optional = optional
        self.separator = separator

    def __str__(self) -> str:
        return (self.separator or "").join(str(p) for p in self.parts)

    def size(self) -> int:
        return 1 + sum(p.size() for p in self.parts if isinstance(p, Node))

    def below(self) -> Iterator["Node"]:
        """The nodes under this one, outermost first."""
        for part in self.parts:
            if isinstance(part, Node):
                yield part
                yield from part.below()

    def places(self, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], "Node"]]:
        """Every node under this one with the way to it."""
        for i, part in enumerate(self.parts):
            if isinstance(part, Node):
                yield path + (i,), part
                yield from part.places(path + (i,))

    def copy(self) -> "Node":
        return Node(
            *(p.copy() if isinstance(p, Node) else p for p in self.parts),
            type=self.type,
            optional=self.optional,
            separator=self.separator,
        )

    def replaced(self, path: tuple[int, ...], new: Part | None) -> "Node":
        """A copy in which the node at `path` is another one (None: it is left out)."""
        out = self.copy()
        node = out
        for i in path[:-1]:
            node = node.parts[i]  # type: ignore[assignment]
        if new is None:
            del node.parts[path[-1]]
        else:
            node.parts[path[-1]] = new
        return out


def listed(items: list[Part], separator: str = ", ") -> Node:
    """A list that has one element at least."""
    return Node(*items, separator=separator)


def smaller(tree: Node, simplest: dict[str, list[str]]) -> Iterator[Node]:
    """Smaller trees, the greatest steps first. `simplest`: the plainest values of each type."""
    for path, node in tree.places():
        if node.optional:
            yield tree.replaced(path, "")
        if node.separator is not None and len(node.parts) > 1:
            for i in range(len(node.parts)):
                yield tree.replaced(path + (i,), None)
        if node.type:
            for inner in node.below():
                if inner.type == node.type:
                    yield tree.replaced(path, inner.copy())
            if len(node.parts) > 1 or isinstance(node.parts[0], Node):
                for value in simplest[node.type]:
                    yield tree.replaced(path, Node(value, type=node.type))


def shrink(tree: Node, simplest: dict[str, list[str]], still: "object", budget: int = 600) -> Node:
    """The smallest tree found for which `still` holds; `budget`: how many are tried."""
    while True:
        for candidate in smaller(tree, simplest):
            budget -= 1
            if budget < 0:
                return tree
            if candidate.size() <= tree.size() and str(candidate) != str(tree) and still(candidate):  # type: ignore[operator]
                tree = candidate
                break
        else:
            return tree
