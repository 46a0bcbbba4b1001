"""Random values for the fields of a request, from the table of the reference's models; a seed gives the same ones."""

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


class FieldMaker:
    """Makes fields of requests for one model.

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
