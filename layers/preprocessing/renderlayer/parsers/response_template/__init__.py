"""Parsers driven by the template with which a tokenizer describes the answers of its model (wire.md 7.1, 7.4).

`template` reads it, `patterns` and `nodes` its regular expressions, `delimiters` finds what they describe in a stream,
`machine` follows the fields, `bodies` reads the calls in them, `parser` is what `open_parser` gives.
"""

NAMES = frozenset({"beam", "hf"})
"""The parsers' names, for tools and for reasoning."""
