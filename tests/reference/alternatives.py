"""Answers of parsers, of which the reference gives several for the same tokens: whole, and in streams cut otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any

from tests.reference.comparing import Answer, difference
from tests.reference.exchanges import Client, Exchange
from tests.reference.reducing import smaller

Json = Any
PATH = "/v1/chat/completions/derender"
PARTS = 60
"""Parts of a request that are left out, one after the other."""
FEW = 64
"""Tokens up to which a stream of one token a chunk is asked for."""


def other_fault(exchange: Exchange, reference: Client, ours: Client) -> bool:
    """Whether two refusals tell different faults of one request, each of which the other server knows, too.

    Without a part of it, one server says what the other says of the whole.
    """
    if exchange.chunks is not None or not isinstance(exchange.body, dict):
        return False
    want, got = exchange.answer(reference), exchange.answer(ours)
    if not (400 <= want[0] < 500 and 400 <= got[0] < 500):
        return False
    for body in islice(smaller(exchange.body), PARTS):
        less = Exchange(exchange.path, body)
        theirs, mine = less.answer(reference), less.answer(ours)
        if difference(want, mine) is None or difference(theirs, got) is None:
            return True
        if _kind(want) != _kind(got) and (_kind(want) == _kind(mine) or _kind(theirs) == _kind(got)):
            return True
    return False


def _kind(answer: Answer) -> Json:
    """Status and type of a refusal; of another answer, the status."""
    status, body = answer
    error = body.get("error") if isinstance(body, dict) else None
    return status, error.get("type") if isinstance(error, dict) else None


def forgiven(exchange: Exchange, reference: Client, ours: Client) -> bool:
    """Whether what our answer says is what the reference says of the same tokens in some other way of asking."""
    if exchange.path != PATH:
        return False
    status, answer = exchange.answer(ours)
    if status != 200:
        return False
    said = _said(answer)
    return any(_said(other) == said for other in _answers(exchange, reference))


def _answers(exchange: Exchange, reference: Client) -> Iterator[Json]:
    body, choice = _whole(exchange)
    status, answer = Exchange(PATH, body).answer(reference)
    if status == 200:
        yield answer
    rest = {key: value for key, value in body.items() if key != "generate_response"}
    for size in (len(choice["token_ids"]) or 1, 5, 1):
        if size > 1 or len(choice["token_ids"]) <= FEW:
            stream = Exchange(PATH, {**rest, "stream": True, "prompt_token_ids": [1]}, _cut(choice, size))
            status, answer = stream.answer(reference)
            if status == 200:
                yield answer


def _whole(exchange: Exchange) -> tuple[Json, Json]:
    """The body that asks for a whole answer to the same tokens, and its choice."""
    if exchange.chunks is None:
        choice = exchange.body["generate_response"]["choices"][0]
        return exchange.body, {"index": 0, **choice, "token_ids": choice.get("token_ids") or []}
    parts = [chunk["choices"][0] for chunk in exchange.chunks if chunk["choices"]]
    ids = [token_id for part in parts for token_id in part["token_ids"]]
    choice = {"index": 0, "token_ids": ids, "finish_reason": parts[-1]["finish_reason"]}
    body = {key: value for key, value in exchange.body.items() if key != "stream"}
    return {**body, "generate_response": {"request_id": "generate-tokens-x", "choices": [choice]}}, choice


def _cut(choice: Json, size: int) -> list[Json]:
    ids = choice["token_ids"]
    parts = [ids[start : start + size] for start in range(0, len(ids), size)] or [[]]
    chunks = [{"request_id": "generate-tokens-x", "choices": [{"index": 0, "token_ids": part}]} for part in parts]
    chunks[-1]["choices"][0]["finish_reason"] = choice.get("finish_reason") or "stop"
    return chunks


def _said(answer: Json) -> Json:
    """What a person gets out of an answer, white space at its ends aside."""
    whole = "choices" in answer
    holder = (answer["choices"] or [{}])[0].get("message", {}) if whole else answer
    calls = holder.get("tool_calls") or []
    functions = [call.get("function") or call for call in calls]
    called = [(function["name"], _loaded(function["arguments"])) for function in functions]
    finish = (answer["choices"] or [{}])[0].get("finish_reason") if whole else answer["finish_reason"]
    return [(holder.get("reasoning") or "").strip(), (holder.get("content") or "").strip(), called, finish]


def _loaded(text: str) -> Json:
    try:
        return json.loads(text)
    except ValueError:
        return text
