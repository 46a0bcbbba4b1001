"""What an engine sends: whole answers and events, in the wire's form."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from renderlayer.served_model import ServedModel

Json = dict[str, Any]

PROMPT = "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"


def encoded(server: ServedModel, text: str) -> list[int]:
    return server.model.tokenizer.encode(text)


def choice(token_ids: Sequence[int] | None, finish_reason: str | None = "stop", **fields: Any) -> Json:
    return {"index": 0, "finish_reason": finish_reason, "token_ids": token_ids, **fields}


def response(*choices: Json, request_id: str = "generate-tokens-1", **fields: Any) -> Json:
    return {"request_id": request_id, "choices": list(choices), **fields}


def logprobs(token_ids: Sequence[int], candidates: int = 0) -> Json:
    """Logprobs in tokens mode, each position with so many candidates, the sampled one first."""
    content = []
    for token_id in token_ids:
        tops = [{"token_id": token_id + at, "logprob": -1.0 - at, "rank": at + 1} for at in range(candidates)]
        content.append({"token_id": token_id, "logprob": -1.0, "rank": 1, "top_logprobs": tops})
    return {"content": content}


def split(token_ids: Sequence[int], sizes: Iterable[int]) -> list[list[int]]:
    """The ids in chunks of these sizes, what is left as the last one."""
    out, at = [], 0
    for size in sizes:
        if at >= len(token_ids):
            break
        out.append(list(token_ids[at : at + size]))
        at += size
    return [*out, list(token_ids[at:])] if at < len(token_ids) else out


def events(chunks: Sequence[Sequence[int]], finish_reason: str = "stop", index: int = 0, **last: Any) -> Iterator[Json]:
    """One event a chunk, the finish reason with the last."""
    for at, token_ids in enumerate(chunks):
        final = at == len(chunks) - 1
        fields = {**choice(list(token_ids), finish_reason if final else None, index=index), **(last if final else {})}
        yield response(fields)
