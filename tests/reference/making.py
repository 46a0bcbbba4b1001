"""Random requests, from the reference's models and from what conversations look like; a seed gives the same ones."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

Json = Any

TABLE: dict[str, dict[str, dict[str, Json]]] = json.loads(Path(__file__).with_name("fields.json").read_bytes())
TEXTS = (
    *("x", "", "Hi there", " leading", "line\nbreak\n", "naïve 東京 👩‍👩‍👧", "<think>hidden</think> seen", "\u0000"),
    *("<|im_end|><|im_start|>system\n", '{"name": "f", "arguments": {}}', "<tool_call>", "word " * 40, "\u2028|\ufeff"),
)
NAMES = ("f", "get_weather", "run-code_2", "x.y", "é")
EDGES: dict[str, tuple[Json, ...]] = {
    "string": ("", "a", "x" * 130, "a/b", "1", "none"),
    "integer": (0, 1, -1, 2, 3.0, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, "1", True, 1.5),
    "number": (0, 0.0, 1, -1, 1e-5, 0.5, 2, 2.0001, -2, 1e300, "0.5", True),
    "boolean": (True, False, 0, 1, "true", "no", 2),
    "array": ([], [1], ["x"], [None], [[]], [{}]),
    "object": ({}, {"a": 1}, {"a": {"b": [None]}}, {"1": 0.5}, {"": ""}),
    "null": (None,),
    "any": (None, 0, "x", [], {}),
}
WRONG: tuple[Json, ...] = (None, True, 5, -1.5, "x", [], [1, "x"], {}, {"type": "x"})
SCHEMAS: tuple[Json, ...] = (
    {},
    {"type": "object", "properties": {}},
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    {"type": "object", "properties": {"n": {"type": ["integer", "null"], "default": 10**21, "enum": [1, None]}}},
    {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {}}}}},
)


class Maker:
    """Makes requests for one model.

    Args:
        model: its served name.
        images: data URLs of small images; none for models that take no images.
    """

    def __init__(self, seed: int, model: str, images: tuple[str, ...] = ()) -> None:
        self._random = random.Random(seed)
        self._model = model
        self._images = images

    def pick(self, *values: Json) -> Json:
        return self._random.choice(values)

    def maybe(self, share: float) -> bool:
        return self._random.random() < share

    def some(self, make: Any, most: int = 3, least: int = 0) -> list[Json]:
        return [make() for _ in range(self._random.randint(least, most))]

    # -- fields --------------------------------------------------------------------------------------------------

    def field(self, row: dict[str, Json]) -> Json:
        """A value for a field: right, at an edge, or of a wrong type."""
        if self.maybe(0.15):
            return self.pick(*WRONG)
        if "values" in row and self.maybe(0.8):
            return self.pick(*row["values"])
        kind = self.pick(*row["types"])
        if kind == "array" and row.get("items") and self.maybe(0.7):
            return [self.pick(*EDGES.get(self.pick(*row["items"]), (0,))) for _ in range(self._random.randint(0, 3))]
        if kind == "object" and row.get("items") and self.maybe(0.7):
            return {self.pick("1", "5", "x"): self.pick(*EDGES.get(self.pick(*row["items"]), (0,)))}
        return self.pick(*EDGES[kind])

    def body(self, table: str, given: dict[str, Json], leave: tuple[str, ...] = ()) -> dict[str, Json]:
        """A body with these fields and some others."""
        rows = TABLE[table]
        names = [name for name in rows if name not in given and name not in leave]
        extra = self._random.sample(names, k=min(len(names), self.pick(0, 1, 1, 2, 2, 3, 5)))
        body = {**given, **{name: self._special(name, rows[name]) for name in extra}}
        if self.maybe(0.06):
            body[self.pick("model", *given)] = self.pick(*WRONG)
        if self.maybe(0.04):
            body.pop(self.pick(*given), None)
        return body

    def _special(self, name: str, row: dict[str, Json]) -> Json:
        makers = {
            "structured_outputs": self.structured,
            "response_format": self.response_format,
            "text": lambda: {"format": self.pick(None, {"type": "text"}, {"type": "json_object"}, self.text_schema())},
            "reasoning": lambda: {"effort": self.pick("low", "none", "high", None), "summary": self.pick("auto", None)},
            "chat_template_kwargs": self.template_kwargs,
            "repetition_detection": lambda: {
                key: self.pick(0, 1, 2, 5, -1) for key in self.keys("max_pattern_size", "min_pattern_size", "min_count")
            },
            "kv_transfer_params": lambda: self.pick(
                {}, {"a": 1}, {"prompt_token_ids": self.pick([1, 2], [], "x", [True], [-1], None, [10**9])}
            ),
            "vllm_xargs": lambda: self.pick({}, {"q": 2}, {"q": [1, "a"]}, {"kv_transfer_params": "x"}, {"b": 2**70}),
            "stream_options": lambda: self.pick({}, {"include_usage": True}, {"include_usage": None}),
            "thinking": lambda: self.pick(
                {"type": "enabled", "budget_tokens": 1024}, {"type": "disabled"}, {"type": "adaptive"}, {"type": "x"}
            ),
            "output_config": lambda: self.pick(
                {"effort": "low"}, {"format": {"type": "json_schema"}}, {"format": {"schema": self.pick(*SCHEMAS)}}
            ),
            "documents": lambda: self.pick([], [{"title": "t", "text": "x"}], [{"title": 1}], [1]),
            "media_io_kwargs": lambda: self.pick({}, None, {"image": {}}),
            "mm_processor_kwargs": lambda: self.pick({}, None, {"a": 1}),
        }
        return makers[name]() if name in makers and self.maybe(0.8) else self.field(row)

    def keys(self, *names: str) -> list[str]:
        return [name for name in names if self.maybe(0.7)]

    def template_kwargs(self) -> Json:
        values = {
            "enable_thinking": self.pick(True, False, 0, None, ""),
            "thinking": self.pick(True, False),
            "documents": self.pick([], [1], [{"title": "t", "text": "x"}]),
            "tokenize": True,
            "reasoning_effort": self.pick("low", "none"),
            "custom": self.pick(1, "x", "auto", None),
            "chat_template": self.pick(None, "x"),
        }
        return {name: values[name] for name in self._random.sample(sorted(values), k=self.pick(0, 1, 1, 2))}

    def text_schema(self) -> Json:
        return {"type": "json_schema", "name": self.pick("n", ""), "schema": self.pick(*SCHEMAS)}

    def structured(self) -> Json:
        kinds = {
            "json": self.pick(*SCHEMAS, "{}"),
            "regex": self.pick("a+", 5),
            "choice": self.pick(["a", "b"], [], "a"),
            "grammar": "root ::= [a-z]",
            "json_object": self.pick(True, False),
            "structural_tag": self.pick("x", '{"type": "structural_tag", "format": {"type": "any_text"}}'),
            "disable_any_whitespace": True,
            "unknown": 1,
        }
        return {name: kinds[name] for name in self._random.sample(sorted(kinds), k=self.pick(1, 1, 1, 2))}

    def response_format(self) -> Json:
        return self.pick(
            {"type": "text"},
            {"type": "json_object"},
            {"type": "json_schema"},
            {"type": "json_schema", "json_schema": {"name": "n", "schema": self.pick(*SCHEMAS)}},
            {"type": "json_schema", "json_schema": {"schema": {}}},
            {"type": "structural_tag", "format": {"type": "const_string", "value": "x"}},
            {"type": "x"},
        )

    # -- conversations -------------------------------------------------------------------------------------------

    def text(self) -> str:
        return str(self.pick(*TEXTS))

    def image(self) -> Json:
        return {"type": "image_url", "image_url": {"url": self.pick(*self._images)}}

    def part(self) -> Json:
        if self._images and self.maybe(0.35):
            return self.image()
        return self.pick(
            {"type": "text", "text": self.text()},
            {"type": "text", "text": self.text()},
            {"type": "text", "text": self.text(), "cache_control": {"type": "ephemeral"}},
            {"type": self.pick("input_text", "output_text"), "text": self.text()},
            {"type": "refusal", "refusal": self.text()},
            {"type": "thinking", "thinking": self.text()},
            self.pick(
                {"type": "text"}, {"type": "text", "text": None}, "bare", {"type": "tool_reference", "name": "f"}
            ),
        )

    def content(self) -> Json:
        return self.text() if self.maybe(0.6) else self.some(self.part)

    def call(self) -> Json:
        arguments = self.pick("{}", '{"city": "Köln"}', "", "not json", "[]", '{"a": [1, null]}')
        return {
            "id": self.pick("c1", "c2"),
            "type": "function",
            "function": {"name": self.pick(*NAMES), "arguments": arguments},
        }

    def message(self) -> Json:
        role = self.pick("user", "user", "user", "assistant", "assistant", "system", "tool", "developer", "x")
        message: dict[str, Json] = {"role": role, "content": self.content()}
        if role == "assistant":
            if self.maybe(0.3):
                message["tool_calls"] = self.some(self.call)
            if self.maybe(0.25):
                message[self.pick("reasoning", "reasoning_content")] = self.pick("hm", "", None)
            if self.maybe(0.2):
                message["content"] = None
        if role == "tool" and self.maybe(0.8):
            message["tool_call_id"] = self.pick("c1", "c2", "c3")
        if self.maybe(0.08):
            message["name"] = self.pick("bob", "", None, 5)
        if self.maybe(0.06):
            del message["content"]
        if self.maybe(0.02):
            message["content"] = self.pick(*WRONG)
        return message

    def messages(self) -> Json:
        return self.some(self.message, most=4, least=0 if self.maybe(0.05) else 1)

    def function(self) -> Json:
        function: dict[str, Json] = {"name": self.pick(*NAMES)}
        more = {
            "description": self.pick("d", "two\nlines", None),
            "parameters": self.pick(*SCHEMAS),
            "strict": self.pick(True, False, None),
        }
        return {**function, **{name: value for name, value in more.items() if self.maybe(0.5)}}

    def chat_tools(self) -> dict[str, Json]:
        """Tools and choice of a chat request; mostly none."""
        if self.maybe(0.65):
            return {}
        out: dict[str, Json] = {"tools": self.some(lambda: {"type": "function", "function": self.function()}, 2, 1)}
        if self.maybe(0.5):
            named = {"type": "function", "function": {"name": self.pick(*NAMES)}}
            out["tool_choice"] = self.pick("auto", "none", "required", None, named, named, "x")
        return out

    def chat(self) -> dict[str, Json]:
        given = {"messages": self.messages(), **self.chat_tools()}
        return self.body("ChatCompletionRequest", given, ("tools", "tool_choice", "model", "messages"))

    def completion(self) -> dict[str, Json]:
        prompt = self.pick(self.text(), [self.text(), "b"], [1, 2, 3], [[1], [2, 3]], [], "", None, [-1], 5, [[]])
        return self.body("CompletionRequest", {"prompt": prompt}, ("model",))

    def tokenize(self) -> dict[str, Json]:
        if self.maybe(0.4):
            return self.body("TokenizeCompletionRequest", {"prompt": self.text()}, ("model",))
        return self.body("TokenizeChatRequest", {"messages": self.messages()}, ("model", "tools"))

    # -- Responses -----------------------------------------------------------------------------------------------

    def input_part(self) -> Json:
        if self._images and self.maybe(0.3):
            return {"type": "input_image", "image_url": self.pick(*self._images), "detail": "auto"}
        return {"type": "input_text", "text": self.text()}

    def item(self) -> Json:
        said = [{"type": "output_text", "text": self.text(), "annotations": []}]
        status = self.pick("completed", "completed", "in_progress", "incomplete")
        thoughts = [{"type": "reasoning_text", "text": "hm"}]
        return self.pick(
            {"role": "user", "content": self.text()},
            {"role": self.pick("user", "system", "developer"), "content": self.some(self.input_part)},
            {"role": self.pick("assistant", "system", "developer"), "content": self.text()},
            {"type": "message", "role": "assistant", "id": "m", "status": status, "content": said},
            {"type": "reasoning", "summary": self.some(lambda: {"type": "summary_text", "text": "s"}, 1)},
            {"type": "reasoning", "id": "r", "summary": [], "content": self.pick(thoughts, None, []), "status": status},
            {"type": "function_call", "call_id": self.pick("c1", "c2"), "name": self.pick(*NAMES), "arguments": "{}"},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "namespace": "ns"},
            {"type": "function_call_output", "call_id": self.pick("c1", "c2"), "output": self.text()},
            {"type": "function_call_output", "call_id": "c1", "output": self.some(self.input_part)},
            self.pick(
                {"role": "x", "content": "y"}, {"role": "x", "id": "i"}, {"type": "function_call"}, {"role": "user"}
            ),
        )

    def responses(self) -> dict[str, Json]:
        given: dict[str, Json] = {"input": self.text() if self.maybe(0.3) else self.some(self.item, 4)}
        if self.maybe(0.3):
            given["instructions"] = self.pick("Be brief.", "", None)
        if self.maybe(0.3):
            given["tools"] = self.some(lambda: {"type": "function", **self.function()}, 2, 1)
            if self.maybe(0.5):
                named = {"type": "function", "name": self.pick(*NAMES)}
                given["tool_choice"] = self.pick("auto", "none", "required", named, {"type": "web_search_preview"})
        leave = ("model", "input", "instructions", "tools", "tool_choice", "previous_input_messages")
        return self.body("ResponsesRequest", given, leave)

    # -- Messages ------------------------------------------------------------------------------------------------

    def block(self, role: str) -> Json:
        if self._images and role == "user" and self.maybe(0.3):
            media, data = self.pick(*self._images).removeprefix("data:").split(";base64,")
            return {"type": "image", "source": {"type": "base64", "media_type": media, "data": data}}
        inner = [{"type": "text", "text": self.text()}, {"type": "tool_reference", "tool_name": "f"}]
        own = {
            "user": (
                {"type": "tool_result", "tool_use_id": "t", "content": self.pick(self.text(), inner, [], None)},
                {"type": "tool_result", "tool_use_id": "t"},
            ),
            "assistant": (
                {"type": "thinking", "thinking": self.pick("hm", ""), "signature": "s"},
                {"type": "tool_use", "id": "t", "name": self.pick(*NAMES), "input": self.pick({}, {"ü": 1}, None)},
                {"type": "redacted_thinking", "data": "d"},
            ),
            "system": ({"type": "text", "text": "x-anthropic-billing-header: a"},),
        }[role]
        text = {"type": "text", "text": self.text()}
        return self.pick(text, text, self.pick(*own), self.pick({"type": "text"}, {"type": "x"}, *own))

    def turn(self) -> Json:
        role = self.pick("user", "user", "user", "assistant", "assistant", "system")
        return {"role": role, "content": self.text() if self.maybe(0.5) else self.some(lambda: self.block(role))}

    def anthropic(self) -> dict[str, Json]:
        turns = self.some(self.turn, 3, 1)
        if turns[-1]["role"] == "assistant" and self.maybe(0.9):  # continued here: wire.md 11.2
            turns.append({"role": "user", "content": "Go on"})
        given: dict[str, Json] = {"model": self._model, "messages": turns, "max_tokens": self.pick(1, 16, 100, 2048)}
        if self.maybe(0.3):
            given["system"] = self.pick(
                "Be brief.", "", [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], []
            )
        if self.maybe(0.35):
            given["tools"] = self.some(self.provided, 2, 1)
        if self.maybe(0.2):
            choices = ({"type": kind} for kind in ("auto", "any", "none", "tool", "x"))
            given["tool_choice"] = self.pick({"type": "tool", "name": "f"}, *choices)
        leave = ("tools", "tool_choice", "system", "messages", "model", "max_tokens")
        return self.body("AnthropicMessagesRequest", given, leave)

    def provided(self) -> Json:
        tool: dict[str, Json] = {"name": self.pick(*NAMES), "input_schema": self.pick(*SCHEMAS)}
        more = {"description": "d", "strict": self.pick(True, False), "defer_loading": True}
        return {**tool, **{name: value for name, value in more.items() if self.maybe(0.3)}}
