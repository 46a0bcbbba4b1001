"""`continue_final_message`: the rendered text ends inside the last message (wire.md 3.5).

A mark is put behind the last message's text before rendering, and the rendering is cut at the mark.
"""

from __future__ import annotations

from typing import Any

from renderlayer.errors import BadRequest

_MARK = "CONTINUE_FINAL_MESSAGE_TAG "


def marked(conversation: list[dict[str, Any]], source: str) -> tuple[list[dict[str, Any]], str]:
    """The conversation with the mark in its last message, and the text that is to be continued.

    Raises:
        BadRequest: there is no text in the last message, or the template never reads contents.
    """
    if not conversation:
        raise BadRequest("continue_final_message is set, but there is no message to continue.")
    last = conversation[-1]
    content = last.get("content")
    if content is None:
        raise BadRequest("continue_final_message is set, but the last message has no content to continue.")
    if "content" not in source:
        raise BadRequest("continue_final_message is set, but the chat template does not use the content of messages.")
    if isinstance(content, str):
        return [*conversation[:-1], {**last, "content": content + _MARK}], content
    for position in range(len(content) - 1, -1, -1):
        part = content[position]
        if "text" in part:
            parts = [*content[:position], {**part, "text": part["text"] + _MARK}, *content[position + 1 :]]
            return [*conversation[:-1], {**last, "content": parts}], part["text"]
    raise BadRequest("continue_final_message is set, but the last message has no text to continue.")


def cut(rendered: str, final_text: str) -> str:
    """The rendering up to the mark. Where the template trimmed the mark's own space, trailing space is cut as well.

    Raises:
        BadRequest: the last message's text is not in the rendering.
    """
    position = rendered.rfind(_MARK.strip())
    if position < 0 or final_text.strip() not in rendered:
        raise BadRequest(
            "continue_final_message is set, but the final message does not appear in the chat after applying the chat "
            "template. The template may remove parts of the final message."
        )
    text = rendered[:position]
    return text if rendered.startswith(_MARK, position) else text.rstrip()
