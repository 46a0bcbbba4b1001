"""The template kwargs that a request amounts to (wire.md 3.5); parsers get the same object."""

from __future__ import annotations

from typing import Any

from renderlayer.served_model import ServedModel


def effort(given: str | None, server: ServedModel) -> str | None:
    """A reasoning effort after the server's map."""
    return given if given is None else server.settings.reasoning_effort_map.get(given, given)


def template_kwargs(
    server: ServedModel,
    given: dict[str, Any] | None,
    *,
    add_generation_prompt: bool,
    continue_final_message: bool,
    documents: list[dict[str, str]] | None = None,
    reasoning_effort: str | None = None,
) -> dict[str, Any]:
    """Server defaults, overlaid by the request's kwargs, overlaid by what its fields say.

    `reasoning_effort` is the mapped effort; it also switches `enable_thinking` unless the request did. Values that are
    None or "auto" are dropped.
    """
    base = {"cohere_format": server.settings.cohere_format, **server.settings.default_chat_template_kwargs}
    base |= given or {}
    base |= {"add_generation_prompt": add_generation_prompt, "continue_final_message": continue_final_message}
    if documents is not None:
        base["documents"] = documents
    if reasoning_effort is not None:
        base["reasoning_effort"] = reasoning_effort
        if "enable_thinking" not in (given or {}):
            base["enable_thinking"] = reasoning_effort != "none"
    return {key: value for key, value in base.items() if value is not None and value != "auto"}
