"""The public face: what `import renderlayer` offers, its examples, and what it gives beside the functions below it."""

from __future__ import annotations

import doctest
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

import renderlayer
from renderlayer import LoadedModel, RenderLayerError, library
from renderlayer.library import Chunk
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.derender.engine import choice, encoded, events, response

REQUEST = {"messages": [{"role": "user", "content": "Hello"}], "logprobs": False}


@pytest.fixture(scope="module")
def loaded(server: ServedModel) -> LoadedModel:
    return renderlayer.load(server.settings.model)


@pytest.fixture
def examples(loaded: LoadedModel) -> dict[str, Any]:
    """What the examples of the docstrings speak of."""
    tokens = encoded(loaded.served, "Hello there")
    return {
        "model": loaded,
        "request": REQUEST,
        "rendered": loaded.render_chat(REQUEST),
        "generated": response(choice(tokens)),
        "events": list(events([tokens[:1], tokens[1:]])),
    }


def example_of(test: doctest.DocTest, model: str) -> doctest.DocTest:
    for example in test.examples:
        example.source = example.source.replace('"qwen3-8b"', repr(model))
    return test


def test_the_examples_of_the_docstrings(loaded: LoadedModel, examples: dict[str, Any]) -> None:
    runner, tried = doctest.DocTestRunner(), 0
    for test in doctest.DocTestFinder().find(library, globs=examples):
        tried += bool(test.examples)
        result = runner.run(example_of(test, loaded.served.settings.model))
        assert not result.failed, test.name
    assert tried >= 7


def test_a_request_may_be_a_model_of_the_wire(loaded: LoadedModel) -> None:
    asked = parse(ChatCompletionRequest, REQUEST)

    assert loaded.render_chat(asked)["token_ids"] == loaded.render_chat(REQUEST)["token_ids"]
    generated = response(choice(encoded(loaded.served, "Hi")))
    told, known = (loaded.derender_chat(generated, request)["choices"] for request in (asked, REQUEST))
    assert told == known


def test_streamed_is_whole(loaded: LoadedModel, examples: dict[str, Any]) -> None:
    def text(chunk: Chunk) -> str:
        return str(chunk["choices"][0].get("text") or "") if chunk["choices"] else ""

    assert "".join(map(text, loaded.stream_completion(examples["events"], {"prompt": "Hello"}))) == "Hello there"


def test_a_conversation_is_tokenized_as_it_is_rendered(loaded: LoadedModel) -> None:
    assert loaded.tokenize(REQUEST["messages"]) == loaded.render_chat(REQUEST)["token_ids"]  # type: ignore[arg-type]


@pytest.mark.parametrize("request_", [{"messages": "Hello"}, {}, {"messages": [{"role": "user"}], "n": "many"}])
def test_what_cannot_be_understood_is_told(loaded: LoadedModel, request_: Mapping[str, Any]) -> None:
    with pytest.raises(RenderLayerError) as caught:
        loaded.render_chat(request_)
    assert caught.value.status == 400


def test_the_public_names_are_there() -> None:
    assert set(renderlayer.__all__) <= set(dir(renderlayer))
    assert all(getattr(renderlayer, name) is not None for name in renderlayer.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        renderlayer.no_such_name  # noqa: B018


def test_the_package_itself_imports_nothing() -> None:
    names = "[name for name in sys.modules if name.startswith(('renderlayer.', 'pydantic'))]"
    line = f"import sys, renderlayer; print({names})"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
