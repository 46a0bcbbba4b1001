"""Random derender requests: samples of families' answers as tokens, whole and cut at random."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tests.reference.dialects import Maker
from tests.reference.fields import TEXTS, WRONG

Json = Any

ID = "generate-tokens-x"
THINK = "<think>\nLet me think.\n</think>\n\n"
# Whole answers in the formats of tool parsers.
ANSWERS: dict[str, tuple[str, ...]] = {
    "hermes": (
        f'{THINK}Sure.\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Paris"}}}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"n": [1, null], "s": "é \\"x\\""}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>\n'
        '<tool_call>\n{"name": "f", "arguments": {"a": 1.5}}\n</tool_call>',
        f"{THINK}It is naïve, 東京 👩‍👩‍👧.",
    ),
    "llama3_json": (
        '{"name": "get_weather", "parameters": {"city": "Paris"}}',
        '{"name": "f", "parameters": {"n": [1, null], "s": "é \\"x\\""}}',
    ),
    "deepseek_v31": (
        "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
        '{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
        '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": "é"}<｜tool▁call▁end｜>'
        "<｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    "openai": (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.",
        '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>',
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>commentary to=functions.f"
        ' <|constrain|>json<|message|>{"a": [1, "é"]}<|call|>',
        "<|channel|>final<|message|>naïve 東京 👩‍👩‍👧",
    ),
    "mistral": (
        '[TOOL_CALLS] [{"name": "get_weather", "arguments": {"city": "Paris"}}]',
        'Sure.[TOOL_CALLS][{"name": "f", "arguments": {"s": "é"}}, {"name": "f", "arguments": {"a": 1.5}}]',
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}',
        '[TOOL_CALLS]f[ARGS]{"s": "é"}',
    ),
}
CITY = {"type": "object", "properties": {"city": {"type": "string"}, "a": {"type": "number"}}}


class DerenderMaker(Maker):
    """Makes derender requests.

    Args:
        encode: text to token ids of the model, special tokens read as such.
        parser: tool parser of the server, "" without one.
    """

    def __init__(self, seed: int, model: str, encode: Any, parser: str) -> None:
        super().__init__(seed, model)
        # markup where no format has it means nothing, and is judged by nobody
        plain = [text for text in TEXTS if text and "<" not in text and not text.startswith("{")]
        self._texts = [encode(text) for text in plain] if parser != "openai" else []
        self._answers = [encode(text) for text in ANSWERS.get(parser, ())]
        self._parser = parser

    def token_ids(self) -> list[int]:
        """An answer in the server's format, or some text."""
        if self._answers and (not self._texts or self.maybe(0.6)):
            return list(self.pick(*self._answers))
        return [token_id for text in self.some(lambda: self.pick(*self._texts)) for token_id in text]

    def logprobs(self, ids: list[int]) -> Json:
        if self.maybe(0.6):
            return None
        return {"content": [self._logprob(token_id, ids) for token_id in ids]}

    def _logprob(self, token_id: int, ids: list[int]) -> Json:
        entry: dict[str, Json] = {"token_id": token_id, "logprob": self.pick(-0.5, 0, -9999.0, -1e-7), "rank": 1}
        others = [{"token_id": other, "logprob": -1.5, "rank": at + 2} for at, other in enumerate(ids[:3])]
        entry["top_logprobs"] = [{**entry}, *others[: self.pick(0, 1, 3)]] if self.maybe(0.7) else []
        return entry

    def choice(self, index: int = 0) -> Json:
        ids = self.token_ids()
        finish = self.pick("stop", "stop", "length", None)
        choice = {"index": index, "token_ids": ids, "logprobs": self.logprobs(ids), "finish_reason": finish}
        if finish == "stop" and self.maybe(0.2):
            choice["stop_reason"] = self.pick(None, "END", 5)
        return choice

    def answer(self) -> Json:
        count = self.pick(1, 1, 1, 2)
        answer: dict[str, Json] = {"request_id": ID, "choices": [self.choice(index) for index in range(count)]}
        if self.maybe(0.3):
            answer["prompt_token_ids"] = self.pick([1, 2, 3], [], None)
        if self.maybe(0.2):
            answer["usage"] = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        if self.maybe(0.1):
            answer["kv_transfer_params"] = self.pick({}, {"a": 1}, None, "x")
        if self.maybe(0.05):
            answer["prompt_logprobs"] = self.pick(None, [], [None, {"5": {"logprob": -0.5, "rank": 1}}])
        return answer if self.maybe(0.93) else self.spoiled(answer)

    def spoiled(self, answer: Json) -> Json:
        """With a field that is wrong, or missing."""
        holder = answer if self.maybe(0.4) else answer["choices"][0]
        key = self.pick(*holder)
        if self.maybe(0.3):
            del holder[key]
        else:
            holder[key] = self.pick(*WRONG, [-1], [10**9], [2**70], ["1"])
        return answer

    def options(self) -> Json:
        """The request that a derender body repeats."""
        options: dict[str, Json] = {"messages": [{"role": "user", "content": "Hi"}]}
        if self._parser and self.maybe(0.6):
            schema = {"parameters": CITY} if self.maybe(0.4) else {}
            names = ("get_weather", "f")[: self.pick(1, 2, 2)]
            options["tools"] = [{"type": "function", "function": {"name": name, **schema}} for name in names]
        more = {"logprobs": True, "return_token_ids": True, "include_reasoning": False, "parallel_tool_calls": False}
        options |= {name: value for name, value in more.items() if self.maybe(0.25)}
        if options.get("logprobs") and self.maybe(0.5):
            options["top_logprobs"] = self.pick(0, 1, 5)
        if self.maybe(0.05):
            options |= self.pick({"n": 2}, {"return_tokens_as_token_ids": True}, {"seed": 1}, {"echo": True}, {"n": 0})
        return options

    def chat_whole(self) -> dict[str, Json]:
        body: dict[str, Json] = {"model": self._model, "generate_response": self.answer()}
        if self.maybe(0.85):
            body["chat_request"] = self.options()
        if self.maybe(0.3):
            body["prompt_tokens"] = self.pick(0, 9, -1, None, "x")
        if self.maybe(0.2):
            body["prompt_token_ids"] = self.pick([1, 2, 3], [], None, [-1], [10**9])
        return self.maybe_spoiled(body)

    def maybe_spoiled(self, body: dict[str, Json]) -> dict[str, Json]:
        if self.maybe(0.04):
            body[self.pick(*body, "stream")] = self.pick(*WRONG)
        if self.maybe(0.02):
            del body[self.pick(*body)]
        return body

    def completion_whole(self) -> dict[str, Json]:
        body: dict[str, Json] = {"model": self._model, "generate_responses": self.some(self.answer, 2, 1)}
        if self.maybe(0.7):
            request = {"prompt": "x", **{name: self.pick(0, 1, 3) for name in self.keys("logprobs")}}
            body["completion_request"] = {**request, **dict.fromkeys(self.keys("return_token_ids"), True)}
        if self.maybe(0.3):
            body["prompt_tokens"] = [self.pick(0, 9) for _ in body["generate_responses"]]
        return self.maybe_spoiled(body)

    def chunks(self, choice: Json) -> list[Json]:
        """A choice's tokens cut at random, sometimes each alone; the last chunk has the finish reason."""
        ids, logprobs = choice["token_ids"], choice["logprobs"]
        source = random.Random(self._random.random())
        most = len(ids) if self.maybe(0.15) else 6
        inner = range(1, len(ids))
        cuts = sorted(source.sample(inner, k=min(len(inner), source.randint(0, most)))) if inner else []
        bounds = [0, *cuts, len(ids)]
        if self.maybe(0.1):
            bounds.insert(1, 0)  # a chunk without tokens
        out = []
        for start, end in itertools.pairwise(bounds):
            held = None if logprobs is None else {"content": logprobs["content"][start:end]}
            part = {"index": 0, "token_ids": ids[start:end], "logprobs": held, "finish_reason": None}
            out.append({"request_id": ID, "choices": [part]})
        out[-1]["choices"][0]["finish_reason"] = choice["finish_reason"] or "stop"
        if self.maybe(0.2):
            out.append(
                {
                    "request_id": ID,
                    "choices": [],
                    "usage": {"prompt_tokens": 3, "completion_tokens": len(ids), "total_tokens": 3 + len(ids)},
                }
            )
        return out

    def stream(self, chat: bool) -> tuple[dict[str, Json], list[Json]]:
        """The common part of a stream's bodies, and its chunks."""
        body: dict[str, Json] = {"model": self._model, "stream": True, "prompt_token_ids": [1, 2, 3]}
        choice = self.choice()
        if chat:
            body["chat_request"] = self.options()
        elif self.maybe(0.7):
            body["completion_request"] = {"prompt": "x", **({"logprobs": 1} if choice["logprobs"] else {})}
        return self.maybe_spoiled(body), self.chunks(choice)
