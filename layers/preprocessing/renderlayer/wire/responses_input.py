"""What the input items of a Responses request must hold (wire.md 2.8).

Only items that are rendered are looked at; others are left out of the prompt, whatever they hold.
"""

from __future__ import annotations

from typing import Any

from renderlayer.wire.chat import IMAGE_DETAILS
from renderlayer.wire.common.base import refused
from renderlayer.wire.responses_tools import Place, demand

Item = dict[str, Any]

ROLES = ("user", "assistant", "system", "developer")
STATUSES = ("in_progress", "completed", "incomplete")
_NEEDS: dict[str, tuple[tuple[str, type | tuple[type, ...]], ...]] = {
    "function_call": (("call_id", str), ("name", str), ("arguments", str)),
    "custom_tool_call": (("call_id", str), ("name", str), ("input", str)),
    "function_call_output": (("output", (str, list)),),
    "custom_tool_call_output": (("call_id", str), ("output", (str, list))),
    "reasoning": (("summary", list),),
}
# Content parts by type, and the key that each must have with a text.
_PART_TEXTS = {"input_text": "text", "output_text": "text", "refusal": "refusal", "input_image": "", "input_file": ""}


def check_item(item: Item, place: Place) -> None:
    """Refuse an item that lacks what its type needs.

    Raises:
        ValidationFailed: with the item's place in the body.
    """
    kind = item.get("type")
    if kind is not None and not isinstance(kind, str):
        raise refused((*place, "type"), "string_type", "Input should be a valid string", kind)
    if is_message(item):
        _check_message(item, place)
        return
    if kind is None or kind == "message":
        raise refused(place, "missing", "Input should be a message with a role, or have a type", item)
    demand(item, _NEEDS.get(kind, ()), place)
    if kind == "reasoning":
        for key, name in (("summary", "summary_text"), ("content", "reasoning_text")):
            for index, part in enumerate(_listed(item, key, place)):
                _check_part(part, (*place, key, index), {name: "text"})
    elif kind in ("function_call_output", "custom_tool_call_output") and isinstance(item["output"], list):
        for index, part in enumerate(item["output"]):
            _check_part(part, (*place, "output", index), _PART_TEXTS)
    if kind in ("function_call", "reasoning", "function_call_output"):
        _check_status(item, place)


def is_message(item: Item) -> bool:
    """Whether an item is a turn of the conversation; an item that is only an id refers to one that is not here."""
    return item.get("type") in (None, "message") and ("role" in item or not isinstance(item.get("id"), str))


def _check_message(item: Item, place: Place) -> None:
    if item.get("type") is None and isinstance(item.get("id"), str):
        return  # the reference takes it for an item_reference, which may hold anything, and reads it as a message
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        raise refused((*place, "role"), "literal_error", "Input should be a known role", role)
    if not isinstance(content, (str, list)):
        problem = "missing" if "content" not in item else "string_type"
        raise refused((*place, "content"), problem, "Input should be a string or a list of parts", content)
    for index, part in enumerate(content if isinstance(content, list) else ()):
        _check_part(part, (*place, "content", index), _PART_TEXTS)
    if role == "assistant" and item.get("phase") not in (None, "commentary", "final_answer"):
        raise refused(
            (*place, "phase"), "literal_error", "Input should be 'commentary' or 'final_answer'", item["phase"]
        )


def _check_part(part: Any, place: Place, texts: dict[str, str]) -> None:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(kind, str) or kind not in texts:
        raise refused((*place, "type"), "literal_error", f"Input should be one of {', '.join(texts)}", kind)
    if kind == "input_image" and part.get("detail", "auto") not in IMAGE_DETAILS:
        problem = f"Input should be one of {', '.join(IMAGE_DETAILS)}"
        raise refused((*place, "detail"), "literal_error", problem, part["detail"])
    if texts[kind]:
        demand(part, ((texts[kind], str),), place)


def _check_status(item: Item, place: Place) -> None:
    if item.get("status") is not None and item["status"] not in STATUSES:
        raise refused(
            (*place, "status"), "literal_error", f"Input should be one of {', '.join(STATUSES)}", item["status"]
        )


def _listed(item: Item, key: str, place: Place) -> list[Any]:
    value = item.get(key)
    if value is not None and not isinstance(value, list):
        raise refused((*place, key), "list_type", "Input should be a valid list", value)
    return value or []
