"""When a template lets prompts be extended, found by trying: within tool cycles, across user turns, with reasoning."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from renderlayer.render.continuing.extend import extension
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.thoughts import thought_around
from renderlayer.render.continuing.turn_end import CALL, CONTENT, turn_end
from renderlayer.render.continuing.writing import Writer
from renderlayer.render.dialect import CHAT
from renderlayer.served_model import ServedModel
from renderlayer.wire.generate import ContinueFrom

Json = dict[str, Any]
EXTENDED = "extended"
_CITY = {"type": "string", "description": "Its name."}
TOOLS: list[Json] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather in a city.",
            "parameters": {"type": "object", "properties": {"city": _CITY}, "required": ["city"]},
        },
    }
]
_USER, _RESULT, _AGAIN, _WHY, _SAID = (
    "Weather in Oslo?",
    "21 degrees",
    "And in Rome?",
    "because of omega",
    "It is fine.",
)
_KNOWN = frozenset(("messages", "tools", "documents", "add_generation_prompt", "bos_token", "eos_token"))


def describe_continues(server: ServedModel) -> Json:
    """The `continues` object of a bundle.

    Returns:
        `when`: "always", "within tool cycles", "turns without reasoning" or "never". `because`: what keeps it from
        "always", or None. `cases`: case → "extended", or the reason against it; None: the template has no such thing.
        `kwargs`: template kwarg → value → `when`, where it makes a difference.
    """
    found = _cases(server, {})
    when, because = _summed_up(found)
    return {"when": when, "because": because, "cases": found, "kwargs": _kwargs(server, when)}


def _cases(server: ServedModel, kwargs: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        f"{follows} turn{', reasoning' if thinks else ''}": _tried(server, kwargs, follows, thinks)
        for follows in ("tool", "user")
        for thinks in (False, True)
    }


def _summed_up(cases: Mapping[str, str | None]) -> tuple[str, str | None]:
    told = {name: found for name, found in cases.items() if found is not None}
    against = next((found for found in told.values() if found != EXTENDED), None)
    if against is None:
        return ("always", None) if told else ("never", "the template takes no conversation of several turns")
    cycle = [found for name, found in told.items() if name.startswith("tool")]
    if cycle and all(found == EXTENDED for found in cycle):
        return "within tool cycles", against
    plain = [found for name, found in told.items() if "reasoning" not in name]
    if plain and all(found == EXTENDED for found in plain):
        return "turns without reasoning", against
    return "never", against


def _kwargs(server: ServedModel, when: str) -> dict[str, dict[str, str]]:
    """The template's own switches that change the answer."""
    writer = _writer(server, {}, True)
    out: dict[str, dict[str, str]] = {}
    for name in sorted(getattr(writer.template, "variables", frozenset()) - _KNOWN):
        for value in (False, True):
            found = _summed_up(_cases(server, {name: value}))[0]
            if found not in (when, "never"):
                out.setdefault(name, {})[str(value).lower()] = found
    return out


def _writer(server: ServedModel, kwargs: Mapping[str, Any], tools: bool) -> Writer:
    return Writer(server, {**kwargs, "add_generation_prompt": True}, TOOLS if tools else None, None, None, CHAT)


def _tried(server: ServedModel, kwargs: Mapping[str, Any], follows: str, thinks: bool) -> str | None:
    """With tools, and where the template takes none, without."""
    found = _with(_writer(server, kwargs, tools=True), follows, thinks)
    if found is None and follows == "user":
        return _with(_writer(server, kwargs, tools=False), follows, thinks)
    return found


def _with(writer: Writer, follows: str, thinks: bool) -> str | None:
    before: list[Json] = [{"role": "user", "content": _USER}]
    for turn, after in _turns(follows, thinks):
        messages = [*before, turn, after]
        try:
            whole = writer.write(messages, generate=True).text
            prompt = writer.write(before, generate=True)
        except NotExtended:
            continue
        if after["content"] not in whole or (thinks and _WHY not in whole and not _thinks(writer)):
            return None
        try:
            closer = _closer(writer, follows, of_call="tool_calls" in turn)
        except NotExtended as refused:
            return str(refused)
        encode = writer.server.model.tokenizer.encode
        given = ContinueFrom.model_construct(
            prompt_token_ids=prompt.ids or encode(prompt.text),
            output_token_ids=encode(_spelled(turn) + closer),
            messages=len(before) + 1,
            history="template",
        )
        try:
            extension(given, messages, writer)
        except NotExtended as refused:
            return str(refused)
        return EXTENDED
    return None


def _closer(writer: Writer, follows: str, of_call: bool) -> str:
    """The token that ends the turn; some templates write a turn's content only, and leave calls to it."""
    if of_call:
        with suppress(NotExtended):
            return turn_end(writer, CALL, follows).closer
    return turn_end(writer, CONTENT, follows).closer


def _thinks(writer: Writer) -> bool:
    """Whether the template looks for reasoning in contents."""
    return thought_around(getattr(writer.template, "source", "")) is not None


def _turns(follows: str, thinks: bool) -> list[tuple[Json, Json]]:
    """Turns and what follows them, in the forms that one template or another wants."""
    thought = {"reasoning": _WHY} if thinks else {}
    if follows == "user":
        return [({"role": "assistant", "content": _SAID, **thought}, {"role": "user", "content": _AGAIN})]
    found: list[tuple[Json, Json]] = []
    for content, call_id in ((None, "call00000"), ("", "call00000"), (None, "functions.get_weather:0")):
        function = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
        call = {"id": call_id, "type": "function", "function": function}
        turn: Json = {"role": "assistant", "content": content, "tool_calls": [call], **thought}
        found.append((turn, {"role": "tool", "tool_call_id": call_id, "name": "get_weather", "content": _RESULT}))
    said: Json = {"role": "assistant", "content": _SAID, **thought}  # where calls stay in the content
    return [*found, (said, {"role": "tool", "tool_call_id": "call00000", "content": _RESULT})]


def _spelled(turn: Json) -> str:
    """The turn in one spelling or another: the proof does not read it but for what is said."""
    thought = f"{turn['reasoning']}</think>\n\n" if turn.get("reasoning") else ""
    calls = [call["function"]["name"] + call["function"]["arguments"] for call in turn.get("tool_calls") or ()]
    return "".join([thought, turn["content"] or "", *calls])
