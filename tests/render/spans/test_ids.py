"""Spans of prompts that are ids: of families without a template, and with media (docs/wire.md 2.11)."""

from __future__ import annotations

from random import Random

import pytest

from renderlayer.render.spans.tokens import offsets_of
from renderlayer.served_model import ServedModel
from tests.render.continuing.conversations import RESULT, SYSTEM, TOOLS, USER, call, ids, text
from tests.render.continuing.laws import said
from tests.render.continuing.test_media import BLUE, RED, TALL, asks, vision  # noqa: F401
from tests.render.renderers.conftest import harmony  # noqa: F401
from tests.render.renderers.mistral_models import VERSIONS
from tests.render.renderers.test_mistral import folders, servers  # noqa: F401
from tests.render.spans.test_spans import sampled, spelled, told

SAID, OK = {"role": "assistant", "content": "21 degrees."}, {"role": "user", "content": "Ok?"}
TALK = [SYSTEM, USER, call(), RESULT, SAID, OK]


def test_offsets_are_those_of_the_tokenizer(server: ServedModel) -> None:
    random, tokenizer = Random(4), server.model.tokenizer
    for _ in range(200):
        words = said(random, 1)
        ids, offsets = tokenizer.encode_with_offsets(words)
        found = offsets_of(ids, words, server.model.vocabulary)
        assert [text(server, ids)[start:end] for start, end in found if end > start] == [
            words[start:end] for start, end in offsets if end > start
        ]


def test_harmony(harmony: ServedModel) -> None:  # noqa: F811
    answer = told(harmony, TALK, tools=TOOLS, tool_choice="auto")
    found = spelled(harmony, answer)
    assert (1, "content", "Weather in Oslo?") in found
    assert (3, "result", "21 degrees") in found
    assert (4, "content", "21 degrees.") in found
    assert (5, "content", "Ok?") in found
    assert any("21 degrees." in run for run in sampled(harmony, answer))
    assert not any("Weather in Oslo?" in run or "Ok?" in run for run in sampled(harmony, answer))


def test_media(vision: ServedModel) -> None:  # noqa: F811
    talk = [asks(RED), {"role": "assistant", "content": "It is red."}, asks(TALL, BLUE)]
    answer = told(vision, talk)
    found = spelled(vision, answer)
    assert [row for row in found if row[1] != "content"] == []
    assert (1, "content", "It is red.") in found
    assert [row[0] for row in found if "What is it?" in row[2]] == [0, 2]
    assert len(ids(vision, "What is it?")) <= 8
    placed = [place for places in answer["features"]["mm_placeholders"].values() for place in places]
    inside = {at for start, end, _, _ in answer["token_spans"] for at in range(start, end)}
    assert not any(at in inside for place in placed for at in range(place["offset"], place["offset"] + place["length"]))
    assert sum(answer["assistant_mask"]) >= len(ids(vision, "It is red."))


@pytest.mark.parametrize("version", VERSIONS)
def test_mistral(servers: dict[str, ServedModel], version: str) -> None:  # noqa: F811
    server = servers[version]
    turn = call()
    turn["tool_calls"][0]["id"] = result = "call00000"
    answer = told(server, [USER, turn, {**RESULT, "tool_call_id": result}, SAID, OK], tools=TOOLS, tool_choice="auto")
    found = [(message, kind, said.strip()) for message, kind, said in spelled(server, answer)]
    assert (0, "content", "Weather in Oslo?") in found
    assert (3, "content", "21 degrees.") in found
    assert (4, "content", "Ok?") in found
    assert any("21 degrees." in run for run in sampled(server, answer))
    assert not any("Weather in Oslo?" in run or "Ok?" in run for run in sampled(server, answer))
