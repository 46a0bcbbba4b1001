"""What a model's template makes of two things that only Anthropic's dialect says; found by rendering (wire.md 2.9).

A prompt that cannot be rendered at all counts as a no, so that no template can keep a server from serving.
"""

from __future__ import annotations

from typing import Any

from renderlayer.errors import RenderLayerError
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest

_THINKING_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_MARK = "Umbra"


def system_stays_inline(server: ServedModel) -> bool:
    """Whether the template renders a system message that comes after a user message; harmony has no template."""
    if server.model.facts.harmony:
        return False
    turns = (("system", "Be brief."), ("user", "Hello"), ("system", _MARK), ("user", "Go on"))
    token_ids = _prompt(server, [{"role": role, "content": text} for role, text in turns])
    return token_ids is not None and _MARK in server.model.tokenizer.decode(token_ids)


def disabled_thinking_effort(server: ServedModel) -> str:
    """The effort that stands for disabled thinking: "none", or "low" where the model knows no "none".

    It knows none when rendering with "none" fails, or gives what one of the thinking efforts gives.
    """
    setting = server.settings.anthropic_disabled_thinking_effort
    if setting != "auto":
        return setting
    messages = [{"role": "user", "content": "Hello"}]
    without = _prompt(server, messages, "none")
    if without is None or any(_prompt(server, messages, effort) == without for effort in _THINKING_EFFORTS):
        return "low"
    return "none"


def _prompt(server: ServedModel, messages: list[dict[str, Any]], effort: str | None = None) -> list[int] | None:
    """The token ids of a conversation, or None when it cannot be rendered."""
    request = ChatCompletionRequest.model_construct(messages=messages, reasoning_effort=effort)
    try:
        token_ids: list[int] = render_chat(request, server)["token_ids"]
    except RenderLayerError:
        return None
    return token_ids
