"""`litellm`, by both of its ways to a server like this one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, CITY_TOOL, QUESTION, is_city

litellm = pytest.importorskip("litellm")

MESSAGES = [{"role": "user", "content": QUESTION}]


@pytest.fixture(params=["hosted_vllm", "openai", "anthropic"])
def target(request: pytest.FixtureRequest, url: str, base_url: str) -> dict[str, Any]:
    provider: str = request.param
    base = url if provider == "anthropic" else base_url
    return {"model": f"{provider}/{MODEL}", "api_base": base, "api_key": KEY, "max_tokens": 64, "temperature": 0}


def test_completion(target: dict[str, Any]) -> None:
    answer = litellm.completion(messages=MESSAGES, **target)
    assert "Paris" in answer.choices[0].message.content


def test_completion_stream(target: dict[str, Any]) -> None:
    parts = [
        chunk.choices[0].delta.content or "" for chunk in litellm.completion(messages=MESSAGES, stream=True, **target)
    ]
    assert len(parts) > 2
    assert "Paris" in "".join(parts)


def test_a_forced_call(target: dict[str, Any]) -> None:
    answer = litellm.completion(
        messages=[{"role": "user", "content": CITY_QUESTION}], tools=[CITY_TOOL], tool_choice="required", **target
    )
    (call,) = answer.choices[0].message.tool_calls
    assert is_city(call.function.arguments)
