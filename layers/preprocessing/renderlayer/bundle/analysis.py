"""What a template's source tells before it is rendered."""

from __future__ import annotations

from jinja2.meta import find_undeclared_variables

from renderlayer.bundle.content_format import content_format
from renderlayer.bundle.engines.engine import Analysis
from renderlayer.bundle.engines.jinja import environment


def analyse(source: str) -> Analysis:
    """Analyse a trusted template. One that does not parse wants strings and takes nothing: rendering tells why.

    Use `engines.limited.analyse_limited` for a template that came in a request.
    """
    try:
        tree = environment().parse(source)
        return Analysis(content_format(tree), frozenset(find_undeclared_variables(tree)))
    except Exception:
        return Analysis()
