"""Random derender requests: samples of families' answers as tokens, whole and cut at random."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tests.reference.making import TEXTS, Maker

Json = Any

THINK = "<think>\nLet me think.\n</think>\n\n"
# Whole answers in the formats of tool parsers.
ANSWERS: dict[str, tuple[str, ...]] = {
    "hermes": (
        f'{THINK}Sure.\n<tool_call>\n{{"name": "get_weather", "arguments": {{"city": "Paris"}}}}\n</tool_call>',
        '<tool_call>\n{"name": "f", "arguments": {"n": [1, null], "s": "é \\"x\\""}}\n</tool_call>',
        f"{THINK}It is naïve, 東京 👩‍👩‍👧.",
    ),
    "llama3_json": ('{"name": "get_weather", "parameters": {"city": "Paris"}}',),
    "deepseek_v31": (
        "I look.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>"
        '{"city": "Paris"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
    ),
    "openai": (
        "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Hello.",
        '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city":"Paris"}<|call|>',
        "<|channel|>final<|message|>naïve 東京 👩‍👩‍👧",
    ),
    "mistral": ('[TOOL_CALLS]get_weather[ARGS]{"city": "Paris"}',),
}


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
        return {"content": [self._logprob(token_id) for token_id in ids]}

    def _logprob(self, token_id: int) -> Json:
        entry: dict[str, Json] = {"token_id": token_id, "logprob": self.pick(-0.5, 0, -9999.0, -1e-7), "rank": 1}
        entry["top_logprobs"] = [{**entry}] if self.maybe(0.7) else []
        return entry

    def choice(self, index: int = 0) -> Json:
        ids = self.token_ids()
        finish = self.pick("stop", "stop", "length", None)
        return {"index": index, "token_ids": ids, "logprobs": self.logprobs(ids), "finish_reason": finish}

    def answer(self) -> Json:
        answer: dict[str, Json] = {"request_id": "generate-tokens-x", "choices": [self.choice()]}
        if self.maybe(0.3):
            answer["prompt_token_ids"] = [1, 2, 3]
        if self.maybe(0.2):
            answer["usage"] = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        if self.maybe(0.1):
            answer["kv_transfer_params"] = self.pick({}, {"a": 1}, None, "x")
        return answer

    def options(self) -> Json:
        """The request that a derender body repeats."""
        options: dict[str, Json] = {"messages": [{"role": "user", "content": "Hi"}]}
        if self._parser and self.maybe(0.6):
            options["tools"] = [{"type": "function", "function": {"name": "get_weather"}}]
        more = {"logprobs": True, "return_token_ids": True, "include_reasoning": False, "parallel_tool_calls": False}
        options |= {name: value for name, value in more.items() if self.maybe(0.25)}
        if options.get("logprobs") and self.maybe(0.5):
            options["top_logprobs"] = self.pick(0, 1, 5)
        return options

    def chat_whole(self) -> dict[str, Json]:
        body: dict[str, Json] = {"model": self._model, "generate_response": self.answer()}
        if self.maybe(0.85):
            body["chat_request"] = self.options()
        if self.maybe(0.3):
            body["prompt_tokens"] = self.pick(0, 9, -1, None, "x")
        return body

    def completion_whole(self) -> dict[str, Json]:
        body: dict[str, Json] = {"model": self._model, "generate_responses": self.some(self.answer, 2, 1)}
        if self.maybe(0.7):
            request = {"prompt": "x", **{name: self.pick(0, 1, 3) for name in self.keys("logprobs")}}
            body["completion_request"] = {**request, **dict.fromkeys(self.keys("return_token_ids"), True)}
        if self.maybe(0.3):
            body["prompt_tokens"] = [self.pick(0, 9) for _ in body["generate_responses"]]
        return body

    def chunks(self, choice: Json) -> list[Json]:
        """A choice's tokens cut at random; the last chunk has the finish reason."""
        ids, logprobs = choice["token_ids"], choice["logprobs"]
        source = random.Random(self._random.random())
        cuts = (
            sorted(source.sample(range(1, len(ids)), k=min(len(ids) - 1, source.randint(0, 6)))) if len(ids) > 1 else []
        )
        bounds = [0, *cuts, len(ids)]
        out = []
        for start, end in itertools.pairwise(bounds):
            held = None if logprobs is None else {"content": logprobs["content"][start:end]}
            part = {"index": 0, "token_ids": ids[start:end], "logprobs": held, "finish_reason": None}
            out.append({"request_id": "generate-tokens-x", "choices": [part]})
        out[-1]["choices"][0]["finish_reason"] = choice["finish_reason"] or "stop"
        return out

    def stream(self, chat: bool) -> tuple[dict[str, Json], list[Json]]:
        """The common part of a stream's bodies, and its chunks."""
        body: dict[str, Json] = {"model": self._model, "stream": True, "prompt_token_ids": [1, 2, 3]}
        choice = self.choice()
        if chat:
            body["chat_request"] = self.options()
        elif self.maybe(0.7):
            body["completion_request"] = {"prompt": "x", **({"logprobs": 1} if choice["logprobs"] else {})}
        return body, self.chunks(choice)
