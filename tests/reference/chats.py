"""Random chat, completion, tokenize and detokenize requests."""

from __future__ import annotations

import zlib
from typing import Any

from tests.reference.fields import SCHEMAS, TEXTS, WRONG, FieldMaker

Json = Any

NAMES = ("f", "get_weather", "run-code_2", "x.y", "é")
ODD_PARTS: tuple[Json, ...] = (
    *({"type": "text"}, {"type": "text", "text": None}, {"text": "x"}, "bare", {}, 5, None),
    *({"type": "tool_reference", "name": "f"}, {"type": "x", "text": "x"}, {"type": "refusal"}, {"type": None}),
    *({"type": "text", "text": 5}, {"type": "thinking"}, {"type": "input_text", "text": ["x"]}),
)
ODD_MEDIA: tuple[Json, ...] = (
    *({"type": "image_url"}, {"type": "image_url", "image_url": None}, {"type": "image_url", "image_url": {}}),
    *({"type": kind, kind: {"url": "data:,"}} for kind in ("image_url", "audio_url", "video_url")),
    *({"type": "image_url", "image_url": {"url": url}} for url in ("", "x", "data:image/png;base64,AAAA", "file:///x")),
    *({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}, {"type": "file", "file": {}}),
    *({"type": "image_embeds", "image_embeds": ""}, {"type": "image_url", "image_url": None, "uuid": "unseen"}),
    *({"type": "input_image", "image_url": "x"}, {"image_url": "x"}, {"type": "input_image", "detail": "auto"}),
)


class ChatMaker(FieldMaker):
    """Makes requests that are conversations or prompts."""

    def text(self) -> str:
        return str(self.pick(*TEXTS))

    def image(self) -> Json:
        url: dict[str, Json] = {"url": self.pick(*self._images)}
        if self.maybe(0.2):
            url["detail"] = self.pick("auto", "low", "high", None)
        image: dict[str, Json] = {"type": "image_url", "image_url": url}
        if self.maybe(0.15):
            image["uuid"] = self.pick(f"{zlib.crc32(url['url'].encode()):08x}", None, 5)  # one that has one meaning
        return image

    def part(self) -> Json:
        if self._images and self.maybe(0.35):
            return self.image()
        if self.maybe(0.04):
            return self.pick(*ODD_MEDIA)
        return self.pick(
            {"type": "text", "text": self.text()},
            {"type": "text", "text": self.text()},
            {"type": "text", "text": self.text(), "cache_control": {"type": "ephemeral"}},
            {"type": self.pick("input_text", "output_text"), "text": self.text()},
            {"type": "refusal", "refusal": self.text()},
            {"type": "thinking", "thinking": self.text()},
            self.pick(*ODD_PARTS),
        )

    def content(self) -> Json:
        return self.text() if self.maybe(0.6) else self.some(self.part)

    def call(self) -> Json:
        arguments = self.pick("{}", '{"city": "Köln"}', "", "not json", "[]", '{"a": [1, null]}', '{"n": 1e400}')
        function = {"name": self.pick(*NAMES), "arguments": arguments}
        call = {"id": self.pick("c1", "c2"), "type": "function", "function": function}
        if self.maybe(0.05):
            del call[self.pick(*call)]
        return call

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
        if self.maybe(0.02):
            return self.pick([{}], [{"content": "x"}], ["x"], [None], {"role": "user"}, "x", None, [{"role": None}])
        return self.some(self.message, most=4, least=0 if self.maybe(0.05) else 1)

    def function(self) -> Json:
        function: dict[str, Json] = {"name": self.pick(*NAMES)}
        more = {
            "description": self.pick("d", "two\nlines", None),
            "parameters": self.pick(*SCHEMAS),
            "strict": self.pick(True, False, None),
        }
        return {**function, **{name: value for name, value in more.items() if self.maybe(0.5)}}

    def chat_tool(self) -> Json:
        if self.maybe(0.03):
            return self.pick({}, {"type": "function"}, {"type": "function", "function": {}}, "x", {"function": None})
        return {"type": "function", "function": self.function()}

    def chat_tools(self) -> dict[str, Json]:
        """Tools and choice of a chat request; mostly none."""
        if self.maybe(0.65):
            return {}
        out: dict[str, Json] = {"tools": self.some(self.chat_tool, 2, 1)}
        if self.maybe(0.5):
            named = {"type": "function", "function": {"name": self.pick(*NAMES)}}
            out["tool_choice"] = self.pick("auto", "none", "required", None, named, named, "x", {"type": "function"})
        return out

    def chat(self) -> dict[str, Json]:
        given = {"messages": self.messages(), **self.chat_tools()}
        return self.body("ChatCompletionRequest", given, ("tools", "tool_choice", "model", "messages"))

    def completion(self) -> dict[str, Json]:
        texts = (self.text(), self.text(), [self.text(), "b"], "", [""])
        ids = ([1, 2, 3], [[1], [2, 3]], [], [-1], [[]], [10**9], [2**70], [True], [1.5], [None], ["x", 1])
        prompt = self.pick(*texts, *ids, None, 5, {})
        return self.body("CompletionRequest", {"prompt": prompt}, ("model",))

    def tokenize(self) -> dict[str, Json]:
        if self.maybe(0.4):
            return self.body("TokenizeCompletionRequest", {"prompt": self.text()}, ("model",))
        tools = {"tools": self.some(self.chat_tool, 2)} if self.maybe(0.3) else {}
        return self.body("TokenizeChatRequest", {"messages": self.messages(), **tools}, ("model", "tools"))

    def detokenize(self) -> dict[str, Json]:
        odd = ([], [0], [-1], [10**9], [2**70], ["1"], [1.0], [True], [None], 5, None, "x")
        ids = [self._random.randrange(1000) for _ in range(self._random.randint(1, 8))]
        return self.body("DetokenizeRequest", {"tokens": self.pick(ids, ids, *odd)}, ("model",))
