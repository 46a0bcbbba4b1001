"""`llama-index-llms-openai-like`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, QUESTION, City

pytest.importorskip("llama_index.llms.openai_like")

from llama_index.core.llms import ChatMessage
from llama_index.core.prompts import PromptTemplate
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike


def client(base_url: str, **options: Any) -> Any:
    return OpenAILike(
        model=MODEL,
        api_base=base_url,
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=8192,
        temperature=0,
        max_tokens=200,
        **options,
    )


@pytest.fixture(scope="module")
def chat(base_url: str) -> Any:
    return client(base_url)


def test_chat(chat: Any) -> None:
    assert "Paris" in chat.chat([ChatMessage(role="user", content=QUESTION)]).message.content


def test_chat_stream(chat: Any) -> None:
    parts = [part.delta for part in chat.stream_chat([ChatMessage(role="user", content=QUESTION)])]
    assert len(parts) > 2
    assert "Paris" in "".join(part or "" for part in parts)


@pytest.mark.parametrize("stream", [False, True])
def test_complete(chat: Any, stream: bool) -> None:
    answer = list(chat.stream_complete(QUESTION))[-1] if stream else chat.complete(QUESTION)
    assert "Paris" in str(answer)


def test_structured_prediction(chat: Any) -> None:
    assert chat.structured_predict(City, PromptTemplate(CITY_QUESTION)).name
    assert chat.as_structured_llm(City).complete(CITY_QUESTION).raw.name


def test_structured_prediction_streamed(base_url: str) -> None:
    """With a schema for the text: for a stream of tools it leaves the model free to call none."""
    chat = client(base_url, should_use_structured_outputs=True)
    parts = list(chat.stream_structured_predict(City, PromptTemplate(CITY_QUESTION)))
    assert len(parts) > 2
    assert City.model_validate(parts[-1].model_dump()).name


@pytest.mark.parametrize("stream", [False, True])
def test_a_demanded_call(chat: Any, stream: bool) -> None:
    tool = FunctionTool.from_defaults(lambda name: name, name="city", description="Report a city.", fn_schema=City)
    ask = chat.stream_chat_with_tools if stream else chat.chat_with_tools
    answer = ask([tool], user_msg=CITY_QUESTION, tool_required=True)
    (call,) = chat.get_tool_calls_from_response(list(answer)[-1] if stream else answer)
    assert City(**call.tool_kwargs).name
