"""`langchain-openai`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, QUESTION, City

langchain_openai = pytest.importorskip("langchain_openai")


@pytest.fixture(scope="module", params=[False, True], ids=["chat", "responses"])
def chat(request: pytest.FixtureRequest, base_url: str) -> Any:
    return langchain_openai.ChatOpenAI(
        model=MODEL, base_url=base_url, api_key=KEY, temperature=0, use_responses_api=request.param
    )


def test_invoke(chat: Any) -> None:
    assert "Paris" in chat.invoke(QUESTION).text


def test_stream(chat: Any) -> None:
    parts = [chunk.text for chunk in chat.stream(QUESTION)]
    assert len(parts) > 2
    assert "Paris" in "".join(parts)


def test_tool_calling(chat: Any) -> None:
    (call,) = chat.bind_tools([City], tool_choice="any").invoke(CITY_QUESTION).tool_calls
    assert City.model_validate(call["args"])


@pytest.mark.parametrize("method", ["function_calling", "json_schema"])
def test_structured_output(chat: Any, method: str) -> None:
    assert isinstance(chat.with_structured_output(City, method=method).invoke(CITY_QUESTION), City)
