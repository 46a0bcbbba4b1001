"""What the reference answers to wrong values, field by field, as a table: `errors.json`.

    python -m tests.reference.errors URL MODEL      asks a running reference and writes the table

One request a field and value; nothing else in it is wrong. The table holds, by path, field and value (as JSON), "ok" or
[status, type, param].
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.reference.comparing import field_of
from tests.reference.exchanges import Client
from tests.reference.fields import TABLE

Json = Any
FILE = Path(__file__).with_name("errors.json")
HELLO = [{"role": "user", "content": "Hi"}]
PATHS: dict[str, tuple[str, dict[str, Json]]] = {
    "/v1/chat/completions/render": ("ChatCompletionRequest", {"messages": HELLO}),
    "/v1/completions/render": ("CompletionRequest", {"prompt": "x"}),
    "/v1/responses/render": ("ResponsesRequest", {"input": "x"}),
    "/v1/messages/render": ("AnthropicMessagesRequest", {"messages": HELLO, "max_tokens": 64}),
}
VALUES: tuple[Json, ...] = (
    *(None, True, "x", "", -1, 0, 1, 3, 1.5, 2**63, [], [1], ["x"], [None]),
    *({}, {"a": 1}, {"type": "x"}, {"1": 0.5}),
)
LEFT = ("model", "request_id", "chat_template", "chat_template_kwargs", "mm_payload")
"""Fields whose answers depend on the server, or differ on purpose."""


def bodies(model: str) -> dict[str, dict[str, dict[str, Json]]]:
    """Path → field → value → body."""
    out: dict[str, dict[str, dict[str, Json]]] = {}
    for path, (table, base) in PATHS.items():
        named = {**base, "model": model} if "messages/" in path else base
        fields = [field for field in TABLE[table] if field not in LEFT]
        out[path] = {field: {json.dumps(value): {**named, field: value} for value in VALUES} for field in fields}
    return out


def outcome(status: int, answer: Json) -> Json:
    """What counts of an answer."""
    if status == 200:
        return "ok"
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return [status]
    return [status, error.get("type"), field_of(error.get("param"))]


def main(url: str, model: str) -> None:
    client = Client(url)
    lines = []
    for path, fields in bodies(model).items():
        rows = []
        for field, values in fields.items():
            found = {value: outcome(*client.post(path, body)) for value, body in values.items()}
            rows.append(f"  {json.dumps(field)}: {json.dumps(found)}")
        lines.append(json.dumps(path) + ": {\n" + ",\n".join(rows) + "\n}")
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
