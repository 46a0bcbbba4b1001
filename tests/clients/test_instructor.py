"""`instructor`, with its default mode: tools."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import KEY, MODEL
from tests.clients.examples import CITY_QUESTION, City

instructor = pytest.importorskip("instructor")
openai = pytest.importorskip("openai")

ASKED = {"model": MODEL, "messages": [{"role": "user", "content": CITY_QUESTION}], "temperature": 0}


@pytest.fixture(scope="module")
def client(base_url: str) -> Any:
    return instructor.from_openai(openai.OpenAI(base_url=base_url, api_key=KEY))


def test_a_typed_answer(client: Any) -> None:
    assert isinstance(client.chat.completions.create(response_model=City, max_retries=0, **ASKED), City)


def test_a_typed_answer_streamed(client: Any) -> None:
    partial = list(client.chat.completions.create_partial(response_model=City, max_retries=0, **ASKED))
    assert City.model_validate(partial[-1].model_dump())
