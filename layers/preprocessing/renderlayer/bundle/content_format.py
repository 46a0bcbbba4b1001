"""How a template wants message contents: as text ("string") or as lists of parts ("openai"); wire.md 3.2.

The template's syntax tree is searched for a loop over the content of a message. Names that hold the list of messages,
a message, or a message's content are found by going over the tree until nothing new is learnt: through `set`,
namespace attributes, macro parameters, filters, tests and conditional expressions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from typing import Literal

from jinja2 import nodes

ContentFormat = Literal["string", "openai"]


class _Holds(Enum):
    MESSAGES = 1
    MESSAGE = 2
    CONTENT = 3


_Scope = nodes.Macro | None
"""The macro that a node stands in; its parameters hide outer names."""


def content_format(tree: nodes.Template) -> ContentFormat:
    """The content format of a parsed template."""
    return "openai" if _Search(tree).loops_over_content() else "string"


class _Search:
    def __init__(self, tree: nodes.Template) -> None:
        self._macros = {macro.name: macro for macro in tree.find_all(nodes.Macro)}
        self._nodes = list(_scoped(tree, None))
        self._held: defaultdict[str, set[_Holds]] = defaultdict(set)
        self._held["messages"] = {_Holds.MESSAGES}

    def loops_over_content(self) -> bool:
        known = -1
        while known != (known := sum(map(len, self._held.values()))):
            self._learn()
        return any(isinstance(node, nodes.For) and self._is_content(node.iter, scope) for node, scope in self._nodes)

    def _is_content(self, node: nodes.Node, scope: _Scope) -> bool:
        if _Holds.CONTENT in self._holds(node, scope):
            return True
        # a name that says so, unless it is a macro's parameter: those are judged by what they receive
        return isinstance(node, nodes.Name) and _key(node.name, scope) == "content"

    def _learn(self) -> None:
        for node, scope in self._nodes:
            if isinstance(node, nodes.For) and isinstance(node.target, nodes.Name):
                if _Holds.MESSAGES in self._holds(node.iter, scope):
                    self._held[_key(node.target.name, scope)].add(_Holds.MESSAGE)
            elif isinstance(node, nodes.Assign):
                self._assign(node, scope)
            elif isinstance(node, nodes.Call) and isinstance(node.node, nodes.Name):
                self._pass(node.node.name, node, scope)

    def _assign(self, node: nodes.Assign, scope: _Scope) -> None:
        held = self._holds(node.node, scope)
        if isinstance(node.target, nodes.NSRef):
            self._held[f"{_key(node.target.name, scope)}.{node.target.attr}"] |= held
        elif isinstance(node.target, nodes.Name):
            key = _key(node.target.name, scope)
            self._held[key] |= held
            value = node.node
            if isinstance(value, nodes.Call) and isinstance(value.node, nodes.Name) and value.node.name == "namespace":
                for keyword in value.kwargs:
                    self._held[f"{key}.{keyword.key}"] |= self._holds(keyword.value, scope)

    def _pass(self, name: str, call: nodes.Call, scope: _Scope) -> None:
        macro = self._macros.get(name)
        if macro is None:
            return
        for parameter, value in zip(macro.args, call.args, strict=False):
            self._held[_key(parameter.name, macro)] |= self._holds(value, scope)
        for keyword in call.kwargs:
            self._held[_key(keyword.key, macro)] |= self._holds(keyword.value, scope)

    def _holds(self, node: nodes.Node | None, scope: _Scope) -> set[_Holds]:
        if isinstance(node, nodes.Name):
            return self._held.get(_key(node.name, scope), set())
        if isinstance(node, (nodes.Filter, nodes.Test)):
            return self._holds(node.node, scope)
        if isinstance(node, nodes.CondExpr):
            return self._holds(node.expr1, scope) | self._holds(node.expr2, scope)
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            return self._holds(node.node, scope)
        if isinstance(node, nodes.Getattr):
            return self._member(node.node, node.attr, scope)
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            return self._member(node.node, node.arg.value, scope)
        return set()

    def _member(self, owner: nodes.Node, name: object, scope: _Scope) -> set[_Holds]:
        held = {_Holds.CONTENT} if name == "content" and _Holds.MESSAGE in self._holds(owner, scope) else set()
        if isinstance(owner, nodes.Name):
            held |= self._held.get(f"{_key(owner.name, scope)}.{name}", set())
        return held


def _scoped(node: nodes.Node, scope: _Scope) -> Iterator[tuple[nodes.Node, _Scope]]:
    """Every node below `node`, with the macro it stands in."""
    for child in node.iter_child_nodes():
        yield child, scope
        yield from _scoped(child, child if isinstance(child, nodes.Macro) else scope)


def _key(name: str, scope: _Scope) -> str:
    """How a name is known: parameters by their macro, all others across the template."""
    if scope is not None and any(parameter.name == name for parameter in scope.args):
        return f"{scope.name}({name})"
    return name
