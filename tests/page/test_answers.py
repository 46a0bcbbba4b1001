"""What the page's middleware answers: its files, and what tokens are called."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient

from renderlayer.http.app import create_app
from renderlayer.http.page import PageMiddleware
from renderlayer.served_model import ServedModel

LARGEST_TRANSFER = 100_000


@pytest.fixture(scope="module")
def page(server: ServedModel) -> TestClient:
    return TestClient(PageMiddleware(create_app(server.settings, server=server), server.model.vocabulary))


def test_the_page_is_small_and_asks_for_nothing_from_elsewhere(page: TestClient) -> None:
    files = [page.get(path) for path in ("/", "/page/style.css", "/page/script.js")]
    assert [file.status_code for file in files] == [200, 200, 200]
    assert sum(len(file.content) for file in files) < LARGEST_TRANSFER
    assert not any(re.search(r"https?://", file.text) for file in files)


@pytest.mark.parametrize("body", [{}, [], {"tokens": "1"}, {"tokens": [1.5]}, {"tokens": [True]}])
def test_tokens_that_are_no_ids_are_refused(page: TestClient, body: object) -> None:
    answer = page.post("/page/tokens", json=body)
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "tokens")


def test_half_a_character_and_unknown_ids_are_described(page: TestClient) -> None:
    ids = page.post("/tokenize", json={"prompt": "\U0001f47b"}).json()["tokens"]
    answer = page.post("/page/tokens", json={"tokens": [*ids, 10**9, -1]}).json()["tokens"]
    assert answer[-2:] == [{"text": "", "special": False}] * 2
    assert answer[0]["text"].startswith(r"\xf0")
