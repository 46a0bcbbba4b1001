"""Which template variables switch thinking on and off, found by rendering with each on, off and not given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from renderlayer.bundle.analysis import analyse
from renderlayer.bundle.engines.jinja import JinjaEngine

CANDIDATES = ("enable_thinking", "thinking")
"""The names that families' templates use."""


def thinking_switches(template: str, special_tokens: Mapping[str, str]) -> dict[str, bool | None]:
    """The variables whose true and false give different prompts.

    Returns:
        Each with what it amounts to when it is not given: True or False; None where the prompt is like neither.
    """
    analysis = analyse(template)
    try:
        engine = JinjaEngine(template)
    except Exception:
        return {}
    said: Any = [{"type": "text", "text": "Hi"}] if analysis.content_format == "openai" else "Hi"
    fixed = {"messages": [{"role": "user", "content": said}], "tools": None, "documents": None}

    def prompt(**given: bool) -> str | None:
        try:
            return engine.render({**special_tokens, **fixed, "add_generation_prompt": True, **given})
        except Exception:
            return None

    found: dict[str, bool | None] = {}
    for name in CANDIDATES:
        if name not in analysis.variables:
            continue
        silent, on, off = prompt(), prompt(**{name: True}), prompt(**{name: False})
        if on is not None and off is not None and on != off:
            found[name] = True if silent == on else False if silent == off else None
    return found
