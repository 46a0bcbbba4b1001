"""How a template wants message contents: as text ("string") or as lists of parts ("openai"); wire.md 3.2.

The template's syntax tree is searched for a loop over the content of a message. Names that hold the list of messages,
a message, or a message's content are found by going over the tree until nothing new is learnt: through `set`,
namespace attributes, macro parameters, filters, tests and conditional expressions.
"""

from __future__ import annotations

from collections import defaultdict
from enum import Enum
from typing import Literal

from jinja2 import nodes

from renderlayer.bundle.engines.jinja import environment

ContentFormat = Literal["string", "openai"]


class _Holds(Enum):
    MESSAGES = 1
    MESSAGE = 2
    CONTENT = 3


def detect_content_format(source: str) -> ContentFormat:
    """The content format of a template; one that does not parse counts as "string"."""
    try:
        tree = environment().parse(source)
    except Exception:
        return "string"
    return "openai" if _Search(tree).loops_over_content() else "string"


class _Search:
    def __init__(self, tree: nodes.Template) -> None:
        self._tree = tree
        self._names: defaultdict[str, set[_Holds]] = defaultdict(set)
        self._names["messages"] = {_Holds.MESSAGES}
        self._macros = {macro.name: macro for macro in tree.find_all(nodes.Macro)}

    def loops_over_content(self) -> bool:
        known = -1
        while known != (known := sum(map(len, self._names.values()))):
            self._learn()
        return any(self._is_content(loop.iter) for loop in self._tree.find_all(nodes.For))

    def _is_content(self, node: nodes.Node) -> bool:
        return _Holds.CONTENT in self._holds(node) or (isinstance(node, nodes.Name) and node.name == "content")

    def _learn(self) -> None:
        for loop in self._tree.find_all(nodes.For):
            if isinstance(loop.target, nodes.Name) and _Holds.MESSAGES in self._holds(loop.iter):
                self._names[loop.target.name].add(_Holds.MESSAGE)
        for assignment in self._tree.find_all(nodes.Assign):
            self._assign(assignment.target, assignment.node)
        for call in self._tree.find_all(nodes.Call):
            self._call(call)

    def _assign(self, target: nodes.Node, value: nodes.Node) -> None:
        if isinstance(target, nodes.NSRef):
            self._names[f"{target.name}.{target.attr}"] |= self._holds(value)
        elif isinstance(target, nodes.Name):
            self._names[target.name] |= self._holds(value)
            if isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "namespace":
                for keyword in value.kwargs:
                    self._names[f"{target.name}.{keyword.key}"] |= self._holds(keyword.value)

    def _call(self, call: nodes.Call) -> None:
        macro = self._macros.get(call.node.name) if isinstance(call.node, nodes.Name) else None
        if macro is None:
            return
        for parameter, value in zip(macro.args, call.args, strict=False):
            self._names[parameter.name] |= self._holds(value)
        for keyword in call.kwargs:
            self._names[keyword.key] |= self._holds(keyword.value)

    def _holds(self, node: nodes.Node | None) -> set[_Holds]:
        if isinstance(node, nodes.Name):
            return self._names.get(node.name, set())
        if isinstance(node, (nodes.Filter, nodes.Test)):
            return self._holds(node.node)
        if isinstance(node, nodes.CondExpr):
            return self._holds(node.expr1) | self._holds(node.expr2)
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            return self._holds(node.node)
        if isinstance(node, nodes.Getattr):
            return self._member(node.node, node.attr)
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            return self._member(node.node, node.arg.value)
        return set()

    def _member(self, owner: nodes.Node, key: object) -> set[_Holds]:
        held = {_Holds.CONTENT} if key == "content" and _Holds.MESSAGE in self._holds(owner) else set()
        if isinstance(owner, nodes.Name):
            held |= self._names.get(f"{owner.name}.{key}", set())
        return held
