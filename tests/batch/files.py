"""A large file of mixed lines, and what must become of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

Json = dict[str, Any]


def mixed(count: int, server: Any) -> tuple[bytes, list[str], list[str | None]]:
    """A file of so many lines.

    Returns:
        The file, the custom_ids that must be in the output file, and those that must be in the error file, each in
        order.
    """
    rows, good, bad = [], [], []
    for number, (row, fine) in zip(range(count), _rows(server), strict=False):
        text = row if isinstance(row, str) else json.dumps({"custom_id": f"r-{number}", **row}, ensure_ascii=False)
        rows.append(text)
        known = None if isinstance(row, str) else json.loads(text).get("custom_id")
        (good if fine else bad).append(known)
    return "\r\n".join(rows).encode(), good, bad


def _rows(server: Any) -> Iterator[tuple[Json | str, bool]]:
    tokens = server.model.tokenizer.encode("Hello there!")
    generated = {"request_id": "g", "choices": [{"index": 0, "finish_reason": "stop", "token_ids": tokens}]}
    number = 0
    while True:
        text = f"Line {number}: é 👍🏽 你好\u2028"
        messages = [{"role": "user", "content": text}]
        yield _post("/v1/chat/completions/render", messages=messages), True
        yield _post("/v1/completions/render", prompt=text), True
        yield _post("/v1/responses/render", input=text), True
        yield _post("/v1/messages/render", messages=messages, max_tokens=5), True
        yield _post("/v1/chat/completions/derender", generate_response=generated), True
        yield _post("/tokenize", prompt=text), True
        number += 1
        if number % 40 == 1:
            yield "{", False
            yield _post("/v1/other"), False
            yield _post("/v1/chat/completions/render", messages=messages, model="other"), False
            yield _post("/v1/chat/completions/render", messages=5), False
            yield {"method": "GET", "url": "/tokenize"}, False
            if number > 1:
                yield {**_post("/tokenize", prompt="x"), "custom_id": "r-0"}, False


def _post(url: str, **body: Any) -> Json:
    return {"method": "POST", "url": url, "body": {"model": "small", **body}}
