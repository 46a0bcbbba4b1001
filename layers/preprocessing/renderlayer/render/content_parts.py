"""The parts that a message's content is made of (wire.md 3.3, 4.1)."""

from __future__ import annotations

from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.wire.chat import IMAGE_DETAILS

# Text parts by type, and the key that holds their text.
TEXT_KEYS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
}
TOOL_REFERENCE = "tool_reference"
# What OpenAI's API does not know.
_OWN_KEYS = ("reasoning", "reasoning_content", "task")
_API_ROLES = ("developer", "system", "user", "assistant")
# Text parts that count as absent without their text.
_SKIPPED = ("text", "refusal")
# Keys that the payload of a chat media part must have; the reference checks these types only.
_PAYLOAD_KEYS = {"image_url": ("url",), "audio_url": ("url",), "video_url": ("url",), "input_audio": ("data", "format")}


def content_parts(message: dict[str, Any]) -> list[Any]:
    """The parts of a message's content, without those that hold nothing; one that is a string is one part.

    Raises:
        BadRequest: a list of nothing but strings, which the reference takes beside objects only.
    """
    content = message.get("content")
    if not isinstance(content, list):
        return [] if content is None else [content]
    if content and all(isinstance(part, str) for part in content) and _of_the_api(message):
        raise BadRequest("A content part must be an object with a type, not a string.")
    return [part for part in content if not _is_absent(part)]


def _of_the_api(message: dict[str, Any]) -> bool:
    """Whether a message has the form that OpenAI's API gives to its role; others are read more freely."""
    role = message["role"]
    if any(key in message for key in _OWN_KEYS):
        return False
    return role in _API_ROLES or (role == "tool" and message.get("tool_call_id") is not None)


def _is_absent(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    kind = part.get("type")
    return isinstance(kind, str) and kind in _SKIPPED and part.get(TEXT_KEYS[kind]) is None


def part_text(part: Any, param: str | None = None) -> str | None:
    """The text of a content part; None for media and tool references.

    Args:
        param: the parameter that a part of an unknown type is blamed on.

    Raises:
        BadRequest: it is no content part.
    """
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        raise BadRequest("A content part must be an object with a type.")
    kind = part.get("type")
    if isinstance(kind, str) and kind in TEXT_KEYS:
        text = part.get(TEXT_KEYS[kind])
        if not isinstance(text, str):
            raise BadRequest(f"A content part of type '{kind}' must have a string under '{TEXT_KEYS[kind]}'.")
        return text
    if kind == TOOL_REFERENCE:
        return None
    from renderlayer import multimodal

    named = isinstance(kind, str) or kind is None
    if not named or multimodal.modality_of(part) is None:
        raise BadRequest(
            f"Unsupported chat content part type: {str(kind)[:100]!r}. Supported types: "
            f"{', '.join(sorted([*TEXT_KEYS, TOOL_REFERENCE, *multimodal.PART_TYPES]))}.",
            param,
        )
    return None


def check_media_part(part: dict[str, Any]) -> None:
    """Refuse a media part whose payload has not the form that the chat API gives it (wire.md 4.1)."""
    kind = part.get("type")
    if kind == "input_image":
        _check_detail(part.get("detail"), kind)
    if kind not in _PAYLOAD_KEYS:
        return
    if part.get(kind) is None:
        if part.get("uuid") is None and kind != "input_audio":
            raise BadRequest(f"A content part of type '{kind}' must have '{kind}' or 'uuid'.")
        return
    payload = part[kind]
    for key in _PAYLOAD_KEYS[kind]:
        if not isinstance(payload, dict) or not isinstance(payload.get(key), str):
            raise BadRequest(f"A content part of type '{kind}' must have an object with '{key}' under '{kind}'.")
    if kind == "image_url" and "detail" in payload:
        _check_detail(payload["detail"], kind)


def _check_detail(detail: Any, kind: str) -> None:
    if detail not in IMAGE_DETAILS:
        raise BadRequest(f"The 'detail' of a content part of type '{kind}' must be one of {', '.join(IMAGE_DETAILS)}.")


def has_media(message: dict[str, Any]) -> bool:
    """Whether a message holds anything but text."""
    content = message.get("content")
    if not isinstance(content, list):
        return False
    from renderlayer import multimodal

    for part in content:
        if isinstance(part, dict):
            kind = part.get("type", "text")
            textual = isinstance(kind, str) and (kind in TEXT_KEYS or kind == TOOL_REFERENCE)
            if not textual or any(key in part for key in multimodal.PART_TYPES):
                return True
    return False
