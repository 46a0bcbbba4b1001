"""Structural tags: what the engine holds the output to, so that derender can parse it (wire.md 2.6, 2.7).

A structural tag is a JSON document in the vocabulary of xgrammar. The tags are built here from a table of formats
(`families`), without xgrammar; the engine compiles them. `build.tool_calls` makes them, `params` is the object that
carries them, `call_schema` is for parsers whose calls no tag describes.
"""
