"""Structural tags: what the engine holds the output to, so that derender can parse it (wire.md 2.6, 2.7).

A structural tag is a JSON document in the vocabulary of xgrammar. The tags are built here from a table of formats
(`families`), without xgrammar; the engine compiles them.
"""

from renderlayer.parsers.structural_tags.build import tool_calls
from renderlayer.parsers.structural_tags.formats import Format, written

__all__ = ["Format", "tool_calls", "written"]
