"""`llama-index-llms-openai-like`."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import QUESTION

pytest.importorskip("llama_index.llms.openai_like")

from llama_index.core.llms import ChatMessage
from llama_index.llms.openai_like import OpenAILike


@pytest.fixture(scope="module")
def chat(base_url: str) -> Any:
    return OpenAILike(
        model=MODEL,
        api_base=base_url,
        api_key=KEY,
        is_chat_model=True,
        is_function_calling_model=True,
        context_window=8192,
        temperature=0,
    )


def test_chat(chat: Any) -> None:
    assert "Paris" in chat.chat([ChatMessage(role="user", content=QUESTION)]).message.content


def test_chat_stream(chat: Any) -> None:
    parts = [part.delta for part in chat.stream_chat([ChatMessage(role="user", content=QUESTION)])]
    assert len(parts) > 2
    assert "Paris" in "".join(part or "" for part in parts)
