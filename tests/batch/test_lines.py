"""Judging lines: what is wrong with one is its own affair."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.batch.steps.lines import LineError, answered, custom_id_of, judged

URLS = {"/v1/chat/completions"}
GOOD: dict[str, Any] = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": []}}


def line(**changes: Any) -> bytes:
    row = {**GOOD, **changes}
    return json.dumps({name: value for name, value in row.items() if value is not ...}).encode()


def test_a_request() -> None:
    request = judged(line(), URLS)
    assert (request.custom_id, request.url, request.body) == ("a", GOOD["url"], {"messages": []})


@pytest.mark.parametrize(
    ("text", "code", "custom_id"),
    [
        (b"{", "invalid_json_line", None),
        (b"\xff\xfe", "invalid_json_line", None),
        (b"[" * 100_000, "invalid_json_line", None),
        (b"[]", "invalid_json_line", None),
        (line(custom_id=...), "missing_required_parameter", None),
        (line(custom_id=5), "invalid_custom_id", None),
        (line(custom_id=""), "invalid_custom_id", None),
        (line(custom_id="x" * 513), "invalid_custom_id", None),
        (line(method="GET"), "invalid_method", "a"),
        (line(method=...), "invalid_method", "a"),
        (line(url="/v1/other"), "invalid_url", "a"),
        (line(url=["/v1/chat/completions"]), "invalid_url", "a"),
        (line(body="text"), "invalid_body", "a"),
        (line(body=...), "invalid_body", "a"),
    ],
)
def test_what_is_wrong(text: bytes, code: str, custom_id: str | None) -> None:
    with pytest.raises(LineError) as caught:
        judged(text, URLS)
    assert (caught.value.code, caught.value.custom_id) == (code, custom_id)


def test_duplicates() -> None:
    with pytest.raises(LineError) as caught:
        judged(line(), URLS, duplicate=True)
    assert (caught.value.code, caught.value.custom_id) == ("duplicate_custom_id", "a")


def test_results_name_their_line_and_nothing_else() -> None:
    first, again = (answered("batch_1", 7, "a", {"x": "é\u2028"}, "r") for _ in range(2))
    assert first == again
    row = json.loads(first.text)
    assert row["response"] == {"status_code": 200, "request_id": "r", "body": {"x": "é\u2028"}}
    assert (row["custom_id"], row["error"]) == ("a", None)
    assert row["id"] != json.loads(answered("batch_1", 8, "a", {}, "r").text)["id"]


def test_the_id_of_a_line_that_is_not_worked_on() -> None:
    assert custom_id_of(line(url="?")) == "a"
    assert custom_id_of(b"{") is None
    assert custom_id_of(b"[]") is None
