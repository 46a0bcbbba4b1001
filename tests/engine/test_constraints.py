"""Structured outputs: whatever the random model would rather say, the text has the form asked for (wire.md 2.6)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.generate.options import Options
from renderlayer.constraints.structural_tags.params import params
from renderlayer.served_model import ServedModel
from tests.engine.serving import Service, served
from tests.engine.tiny import load_model

pytest.importorskip("xgrammar")

SCHEMA = {
    "type": "object",
    "properties": {"city": {"enum": ["Paris", "Rome"]}, "days": {"type": "integer"}},
    "required": ["city", "days"],
    "additionalProperties": False,
}


def said(service: Service, constraint: dict[str, Any], seed: int = 1, **body: Any) -> dict[str, Any]:
    response = service.post(
        token_ids=[40, 41],
        sampling_params={"max_tokens": 120, "seed": seed, "structured_outputs": constraint},
        output_mode="text",
        **body,
    )
    assert response.status_code == 200, response.text
    choice: dict[str, Any] = response.json()["choices"][0]
    return choice


@pytest.mark.parametrize(
    ("constraint", "form"),
    [
        ({"choice": ["yes", "no", "perhaps"]}, "yes|no|perhaps"),
        ({"regex": "[0-9]{3}-[a-c]{2}"}, "[0-9]{3}-[a-c]{2}"),
        ({"grammar": 'root ::= "x" ("y" | "z") "!"'}, "x[yz]!"),
        (params(choice=["a+b"]), re.escape("a+b")),
    ],
)
@pytest.mark.parametrize("seed", [1, 2])
def test_texts(service: Service, constraint: dict[str, Any], form: str, seed: int) -> None:
    choice = said(service, constraint, seed)
    assert re.fullmatch(form, choice["text"])
    assert choice["finish_reason"] == "stop"


@pytest.mark.parametrize("given", [SCHEMA, json.dumps(SCHEMA)])
def test_json(service: Service, given: Any) -> None:
    choice = said(service, {"json": given, "disable_any_whitespace": True})
    assert choice["finish_reason"] in ("stop", "length")
    assert re.match(r'\{"city": ?"(Paris|Rome)", ?"days": ?-?[0-9]', choice["text"])


def test_a_structural_tag_holds_the_call_and_frees_the_rest(service: Service) -> None:
    tag = {
        "type": "structural_tag",
        "format": {
            "type": "tag",
            "begin": '<tool_call>\n{"name": "f", "arguments": ',
            "content": {"type": "json_schema", "json_schema": {"enum": [{"a": 1}]}},
            "end": "}\n</tool_call>",
        },
    }
    text = said(service, {"structural_tag": json.dumps(tag)}, seed=3)["text"]
    call = re.search(r'\{"name": "f", "arguments": (.*)\}', text, re.DOTALL)
    assert call is not None
    assert json.loads(call[1]) == {"a": 1}


@pytest.mark.parametrize(
    ("constraint", "param"),
    [
        ({"regex": "("}, "structured_outputs"),
        ({"json": "{"}, "structured_outputs"),
        ({"grammar": "nonsense"}, "structured_outputs"),
        ({"structural_tag": "{}"}, None),  # as the reference says it; the message names the tag
    ],
)
def test_constraints_that_are_none(service: Service, constraint: dict[str, Any], param: str | None) -> None:
    response = service.post(token_ids=[1], sampling_params={"structured_outputs": constraint})
    assert response.status_code == 400
    error = response.json()["error"]
    assert error["param"] == param
    assert param or "structural tag" in error["message"]
    assert "/project/" not in response.text


@pytest.fixture(scope="module")
def reasoning(tiny: ServedModel, tiny_folder: Path) -> Iterator[Service]:
    """The same model, with a reasoning parser."""
    server = replace(tiny, settings=replace(tiny.settings, reasoning_parser="deepseek_r1"))
    with served(server, load_model(tiny_folder), Options()) as service:
        yield service


def test_reasoning_is_free_until_it_ends(reasoning: Service) -> None:
    model = reasoning.engine.server.model
    close = model.vocabulary.added["</think>"]
    body = {
        "token_ids": [40, 41],
        "sampling_params": {
            "max_tokens": 60,
            "temperature": 0,
            "structured_outputs": {"choice": ["yes", "no"]},
            "skip_special_tokens": False,
        },
        "output_mode": "text",
    }
    ended = reasoning.post(**body, reasoning_ended=True).json()["choices"][0]
    assert ended["text"] in ("yes", "no")
    body["sampling_params"]["logit_bias"] = {str(close): 100}  # type: ignore[index]
    open_ = reasoning.post(**body, reasoning_ended=False).json()["choices"][0]
    assert re.fullmatch("</think>(yes|no)(<.*>)?", open_["text"])


@pytest.mark.parametrize("budget", [0, 1, 5])
def test_reasoning_is_ended_by_its_budget(reasoning: Service, budget: int) -> None:
    close = reasoning.engine.server.model.vocabulary.added["</think>"]
    params = {"max_tokens": 12, "temperature": 0, "ignore_eos": True, "thinking_token_budget": budget}

    def tokens(ended: bool, **changed: Any) -> list[int]:
        body = {"token_ids": [40, 41], "sampling_params": {**params, **changed}, "reasoning_ended": ended}
        found: list[int] = reasoning.post(**body).json()["choices"][0]["token_ids"]
        return found

    free = tokens(True)
    assert tokens(False)[: budget + 1] == [*free[:budget], close]
    assert tokens(False, logit_bias={str(close): 100}).index(close) == 0
