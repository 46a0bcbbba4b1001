"""Random Responses and Messages requests."""

from __future__ import annotations

from typing import Any

from tests.reference.chats import NAMES, ChatMaker
from tests.reference.fields import SCHEMAS

Json = Any

THOUGHTS = [{"type": "reasoning_text", "text": "hm"}]
ODD_ITEMS: tuple[Json, ...] = (
    *({"role": "x", "content": "y"}, {"role": "x", "id": "i"}, {"type": "function_call"}, {"role": "user"}, {}, "x"),
    *({"type": "reasoning"}, {"type": "function_call_output", "call_id": "c1"}, {"type": "message"}, None, 5),
    *({"type": "message", "content": "x"}, {"role": "user", "content": None}, {"role": "user", "content": [None]}),
    *({"role": "user", "content": [{"type": "input_text"}]}, {"role": "user", "content": [{"text": "x"}]}),
    *({"role": "user", "content": ["x"]}, {"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}),
)
ODD_BLOCKS: tuple[Json, ...] = (
    *({"type": "text"}, {"type": "x"}, {}, "x", {"type": "text", "text": 5}, {"type": "image"}, {"type": None}),
    *({"type": "image", "source": None}, {"type": "image", "source": {}}, {"type": "tool_use"}, {"text": "x"}),
    *({"type": "tool_result"}, {"type": "thinking"}, {"type": "tool_reference", "tool_name": "f"}),
    *({"type": "tool_addition"}, {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "f"}}),
    *({"type": "tool_use", "id": 5, "name": "f", "input": "x"}, {"type": "image", "source": {"type": "x"}}),
)


class Maker(ChatMaker):
    """Makes requests of all APIs for one model."""

    # -- Responses -----------------------------------------------------------------------------------------------

    def input_part(self) -> Json:
        if self._images and self.maybe(0.3):
            return {"type": "input_image", "image_url": self.pick(*self._images), "detail": "auto"}
        return {"type": "input_text", "text": self.text()}

    def said_part(self) -> Json:
        if self.maybe(0.1):
            return {"type": "refusal", "refusal": self.text()}
        return {"type": "output_text", "text": self.text(), "annotations": []}

    def item(self) -> Json:
        status = self.pick("completed", "completed", "in_progress", "incomplete")
        summary = self.some(lambda: {"type": "summary_text", "text": self.pick("s", "")}, 2)
        identity = {"id": self.pick("i", "", None)} if self.maybe(0.3) else {}
        call = {"call_id": self.pick("c1", "c2"), "name": self.pick(*NAMES)}
        return self.pick(
            {"role": "user", "content": self.text()},
            {"role": self.pick("user", "system", "developer"), "content": self.some(self.input_part)},
            {"role": self.pick("assistant", "system", "developer"), "content": self.text()},
            {"type": "message", "role": "user", "content": self.text(), **identity},
            {"type": "message", "role": "assistant", "id": "m", "status": status, "content": self.said()},
            {"type": "reasoning", "summary": summary},
            {"type": "reasoning", "id": "r", "summary": [], "content": self.pick(THOUGHTS, None, []), "status": status},
            {"type": "reasoning", "id": "r", "summary": summary, "content": THOUGHTS, "encrypted_content": "e"},
            {"type": "function_call", **call, "arguments": self.pick("{}", "", "x", '{"ü": 1}'), **identity},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "namespace": "ns"},
            {"type": "function_call_output", "call_id": self.pick("c1", "c2"), "output": self.text()},
            {"type": "function_call_output", "call_id": "c1", "output": self.some(self.input_part)},
            self.pick(*ODD_ITEMS),
        )

    def said(self) -> Json:
        return self.some(self.said_part, 2, 0 if self.maybe(0.1) else 1)

    def responses_tool(self) -> Json:
        if self.maybe(0.03):
            return self.pick({}, {"type": "function"}, {"name": "f"}, "x", {"type": "function", "name": 5})
        if self.maybe(0.05):
            return {"type": "namespace", "name": "ns", "description": "d", "tools": [{"type": "function", "name": "f"}]}
        return {"type": "function", **self.function()}

    def responses(self) -> dict[str, Json]:
        given: dict[str, Json] = {"input": self.text() if self.maybe(0.3) else self.some(self.item, 4)}
        if self.maybe(0.3):
            given["instructions"] = self.pick("Be brief.", "", None)
        if self.maybe(0.3):
            given["tools"] = self.some(self.responses_tool, 2, 1)
            if self.maybe(0.5):
                named = {"type": "function", "name": self.pick(*NAMES)}
                allowed = {"type": "allowed_tools", "mode": self.pick("auto", "required"), "tools": [named]}
                other = {"type": self.pick("web_search_preview", "x")}
                given["tool_choice"] = self.pick("auto", "none", "required", named, allowed, other)
        if self.maybe(0.05):
            given["previous_input_messages"] = self.some(self.message, 2)
        leave = ("model", "input", "instructions", "tools", "tool_choice", "previous_input_messages")
        return self.body("ResponsesRequest", given, leave)

    # -- Messages ------------------------------------------------------------------------------------------------

    def picture(self) -> Json:
        media, data = self.pick(*self._images).removeprefix("data:").split(";base64,")
        return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}

    def block(self, role: str) -> Json:
        if self._images and role == "user" and self.maybe(0.3):
            return self.picture()
        inner = [{"type": "text", "text": self.text()}, {"type": "tool_reference", "tool_name": "f"}]
        if self._images and self.maybe(0.5):
            inner.append(self.picture())
        named = {"type": "tool_reference", "name": self.pick(*NAMES)}
        defined = {"type": "tool_definition", "definition": {"name": self.pick(*NAMES), "input_schema": {}}}
        own = {
            "user": (
                {"type": "tool_result", "tool_use_id": "t", "content": self.pick(self.text(), inner, [], None)},
                {"type": "tool_result", "tool_use_id": self.pick("t", "u"), "is_error": True, "content": "bad"},
                {"type": "tool_result", "tool_use_id": "t"},
            ),
            "assistant": (
                {"type": "thinking", "thinking": self.pick("hm", ""), "signature": "s"},
                {"type": "tool_use", "id": "t", "name": self.pick(*NAMES), "input": self.pick({}, {"ü": 1}, None)},
                {"type": "redacted_thinking", "data": "d"},
            ),
            "system": (
                {"type": "text", "text": "x-anthropic-billing-header: a"},
                {"type": "tool_removal", "tool": named},
                {"type": "tool_addition", "tool": self.pick(named, defined)},
            ),
        }[role]
        text = {"type": "text", "text": self.text()}
        cached = {**text, "cache_control": {"type": "ephemeral"}}
        return self.pick(text, text, cached, self.pick(*own), self.pick(*own), self.pick(*ODD_BLOCKS, *own))

    def turn(self) -> Json:
        role = self.pick("user", "user", "user", "assistant", "assistant", "system")
        return {"role": role, "content": self.text() if self.maybe(0.5) else self.some(lambda: self.block(role))}

    def anthropic(self) -> dict[str, Json]:
        turns = self.some(self.turn, 3, 1)
        if turns[-1]["role"] == "assistant" and self.maybe(0.9):  # continued here: wire.md 11.2
            turns.append({"role": "user", "content": "Go on"})
        if self.maybe(0.03):
            turns[-1] = self.pick({}, {"role": "x", "content": "x"}, {"role": "user"}, {"role": "user", "content": 5})
        given: dict[str, Json] = {"model": self._model, "messages": turns, "max_tokens": self.pick(1, 16, 100, 2048)}
        if self.maybe(0.3):
            texts = [{"type": "text", "text": text} for text in ("a", self.text(), "b")]
            given["system"] = self.pick("Be brief.", "", texts, texts[:1], [], [{"type": "text"}])
        if self.maybe(0.35):
            given["tools"] = self.some(self.provided, 2, 1)
        if self.maybe(0.2):
            single = {"disable_parallel_tool_use": self.pick(True, False, None)} if self.maybe(0.4) else {}
            choices = ({"type": kind, **single} for kind in ("auto", "any", "none", "tool", "x"))
            given["tool_choice"] = self.pick({"type": "tool", "name": self.pick(*NAMES), **single}, *choices)
        leave = ("tools", "tool_choice", "system", "messages", "model", "max_tokens")
        return self.body("AnthropicMessagesRequest", given, leave)

    def provided(self) -> Json:
        tool: dict[str, Json] = {"name": self.pick(*NAMES), "input_schema": self.pick(*SCHEMAS)}
        more = {"description": "d", "strict": self.pick(True, False), "defer_loading": True}
        return {**tool, **{name: value for name, value in more.items() if self.maybe(0.3)}}
