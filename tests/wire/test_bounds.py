"""What a body full of faults costs: of every list and object the first fault is told, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from renderlayer import wire
from renderlayer.errors import ValidationFailed
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import Body, parse
from renderlayer.wire.derender import parse_chat

MANY = 300_000


def models(base: type[Body] = Body) -> Iterator[type[Body]]:
    for module in iter_modules(wire.__path__, f"{wire.__name__}."):
        import_module(module.name)
    for model in base.__subclasses__():
        if model.__module__.startswith(wire.__name__):
            model.model_rebuild()
            yield model
        yield from models(model)


def collections(schema: Any) -> Iterator[dict[str, Any]]:
    """Every list of a core schema, and every object whose values have a type."""
    if isinstance(schema, dict):
        if schema.get("type") == "list" or (schema.get("type") == "dict" and schema["values_schema"]["type"] != "any"):
            yield schema
        for inner in schema.values():
            yield from collections(inner)
    elif isinstance(schema, (list, tuple)):
        for inner in schema:
            yield from collections(inner)


def test_no_list_of_the_wire_gathers_faults() -> None:
    found = [(model, schema) for model in models() for schema in collections(model.__pydantic_core_schema__)]
    assert len(found) > 100
    assert not [(model, schema) for model, schema in found if not schema.get("fail_fast")]


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [1] * MANY},
        {"messages": [], "stop_token_ids": ["x"] * MANY},
        {"messages": [], "logit_bias": {str(number): [] for number in range(MANY)}},
        {"messages": [], "vllm_xargs": {"x": [{}] * MANY}},
        {"messages": [], "documents": [{"x": 1}] * MANY},
    ],
    ids=["messages", "ids", "biases", "arguments", "documents"],
)
def test_a_body_of_faults_is_refused_with_the_first(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationFailed) as caught:
        parse(ChatCompletionRequest, body)
    assert caught.value.message.count("'loc'") < 10
    assert caught.value.param is not None and caught.value.param.startswith(f"body.{list(body)[-1]}.")


def test_a_body_of_faults_for_derender_is_refused_with_the_first() -> None:
    choice = {"index": 0, "token_ids": [1], "logprobs": {"content": [0] * MANY}}
    with pytest.raises(ValidationFailed) as caught:
        parse_chat({"generate_response": {"choices": [choice]}})
    assert caught.value.message.count("'loc'") < 10
