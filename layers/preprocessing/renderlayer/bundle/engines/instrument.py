"""Puts checks of the budget into a template's syntax tree.

The checks are filters whose names no template can spell.
"""

from __future__ import annotations

from jinja2 import Environment, nodes
from jinja2.visitor import NodeTransformer

SPEND = " spend"
"""Counts bytes and checks the time."""
WEIGHED = " weighed"
"""Gives its value back unless it is too large to be walked through."""
CHARGED = " charged"
"""Counts a value that was made."""
CONCAT = " concat"
"""Joins a tuple of values into a text."""

_OUTPUT_OVERHEAD = 64
"""Bytes that each output costs beside its text."""


def instrument(tree: nodes.Template, environment: Environment) -> nodes.Template:
    """Put the checks into `tree`, which is changed."""
    instrumented: nodes.Template = _Instrument().visit(tree)
    instrumented.set_environment(environment)
    return instrumented


class _Instrument(NodeTransformer):
    def visit_Output(self, node: nodes.Output) -> list[nodes.Node]:
        static = sum(len(child.data) for child in node.nodes if isinstance(child, nodes.TemplateData))
        return [_spend(node, static + _OUTPUT_OVERHEAD), self.generic_visit(node)]

    def visit_For(self, node: nodes.For) -> list[nodes.Node]:
        self._check_body(node)
        if node.test is not None:
            node.test = nodes.And(_filter(nodes.Const(0, lineno=node.lineno), SPEND), node.test, lineno=node.lineno)
        return [_spend(node, 0), node]

    def visit_Macro(self, node: nodes.Macro) -> nodes.Node:
        self._check_body(node)
        return node

    def visit_CallBlock(self, node: nodes.CallBlock) -> nodes.Node:
        self._check_body(node)
        return node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _weighed(node.expr)
        for operand in node.ops:
            operand.expr = _weighed(operand.expr)
        return node

    def visit_Pair(self, node: nodes.Pair) -> nodes.Node:
        self.generic_visit(node)
        node.key = _weighed(node.key)
        return node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _filter(node, CHARGED) if isinstance(node.arg, nodes.Slice) else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _filter(nodes.Tuple(node.nodes, "load", lineno=node.lineno), CONCAT)

    def _check_body(self, node: nodes.For | nodes.Macro | nodes.CallBlock) -> None:
        self.generic_visit(node)
        node.body.insert(0, _spend(node, 0))


def _spend(where: nodes.Node, size: int) -> nodes.Node:
    return nodes.ExprStmt(_filter(nodes.Const(size, lineno=where.lineno), SPEND), lineno=where.lineno)


def _weighed(node: nodes.Expr) -> nodes.Expr:
    return node if isinstance(node, nodes.Const) else _filter(node, WEIGHED)


def _filter(node: nodes.Expr, name: str) -> nodes.Filter:
    return nodes.Filter(node, name, [], [], None, None, lineno=node.lineno)
