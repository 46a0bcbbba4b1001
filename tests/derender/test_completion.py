"""Text completions: whole answers and streams of single calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.derender import derender_chat, derender_completion
from renderlayer.errors import BadRequest, NotFound, ValidationFailed
from renderlayer.served_model import ServedModel
from tests.derender.client import put_together, replayed
from tests.derender.engine import Json, choice, encoded, events, logprobs, response, split

REQUEST: Json = {"prompt": "x"}


def test_choices_of_all_prompts_are_numbered_through(server: ServedModel) -> None:
    one, two = encoded(server, "One"), encoded(server, "Two<|im_end|>")
    answers = [
        response(choice(one), choice(two, index=1), request_id="a", kv_transfer_params={"k": 1}),
        response(choice(two), choice(one, "length", index=1), request_id="b", kv_transfer_params={"k": 2}),
    ]
    answer = derender_completion({"generate_responses": answers, "prompt_tokens": [3, 4]}, server)

    assert [(entry["index"], entry["text"], entry["finish_reason"]) for entry in answer["choices"]] == [
        *((0, "One", "stop"), (1, "Two", "stop"), (2, "Two", "stop"), (3, "One", "length"))
    ]
    assert (answer["id"], answer["object"], answer["model"]) == ("a", "text_completion", "small")
    assert answer["usage"]["prompt_tokens"] == 7
    assert answer["usage"]["completion_tokens"] == 2 * (len(one) + len(two))
    assert answer["kv_transfer_params"] is None


def test_the_keys_of_an_answer(server: ServedModel) -> None:
    answer = derender_completion({"generate_responses": [response(choice([1]))]}, server)

    assert list(answer) == [
        *("id", "object", "created", "model", "choices", "service_tier", "system_fingerprint", "usage"),
        *("kv_transfer_params", "ec_transfer_params", "metrics"),
    ]
    assert list(answer["choices"][0]) == [
        *("index", "text", "logprobs", "finish_reason", "stop_reason", "token_ids", "prompt_logprobs"),
        *("prompt_token_ids", "routed_experts", "weight_versions"),
    ]


def test_prompt_logprobs_stand_with_every_choice_of_their_prompt(server: ServedModel) -> None:
    given_ = [None, {"7": {"logprob": -2.0, "rank": 3, "decoded_token": "x"}}]
    answers = [response(choice([1]), choice([2], index=1), prompt_logprobs=given_), response(choice([3]))]
    choices = derender_completion({"generate_responses": answers}, server)["choices"]

    assert [entry["prompt_logprobs"] for entry in choices] == [given_, given_, None]


def test_logprobs_are_four_lists(server: ServedModel) -> None:
    token_ids = encoded(server, "Hi!<|im_end|>")
    generated = response(choice(token_ids, logprobs=logprobs(token_ids, 3)), prompt_token_ids=[4])
    generated["choices"][0]["logprobs"]["content"][0]["top_logprobs"] = []
    generated["choices"][0]["logprobs"]["content"][1]["logprob"] = float("-inf")
    request = {**REQUEST, "logprobs": 1, "return_token_ids": True}
    (answer,) = derender_completion({"generate_responses": [generated], "completion_request": request}, server)[
        "choices"
    ]

    told = answer["logprobs"]
    assert list(told) == ["text_offset", "token_logprobs", "tokens", "top_logprobs"]
    assert "".join(told["tokens"]) == "Hi!<|im_end|>"
    assert told["text_offset"] == [sum(map(len, told["tokens"][:at])) for at in range(len(token_ids))]
    assert told["token_logprobs"][:2] == [-1.0, -9999.0]
    assert told["top_logprobs"][0] is None
    assert [len(top) for top in told["top_logprobs"][1:]] == [2] * (len(token_ids) - 1)
    assert (answer["text"], answer["token_ids"], answer["prompt_token_ids"]) == ("Hi!", token_ids, [4])


def test_a_stop_string_cuts(server: ServedModel) -> None:
    body = {
        "generate_responses": [response(choice(encoded(server, "one two three")))],
        "completion_request": {**REQUEST, "stop": ["two"]},
    }
    (answer,) = derender_completion(body, server)["choices"]

    assert (answer["text"], answer["stop_reason"]) == ("one ", "two")


def test_the_first_word_keeps_its_space_after_the_prompt(metaspace_server: ServedModel) -> None:
    vocabulary = metaspace_server.model.vocabulary
    hello, world = vocabulary.id_of("▁Hello"), vocabulary.id_of("▁world")
    assert world is not None
    body: Json = {"generate_responses": [response(choice([world], logprobs=logprobs([world])))]}

    def told(body: Json) -> tuple[str, list[str]]:
        (answer,) = derender_completion(body, metaspace_server)["choices"]
        return answer["text"], answer["logprobs"]["tokens"]

    assert told(body) == ("world", [" world"])
    assert told({**body, "prompt_token_ids": [[hello]]}) == (" world", [" world"])


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ({"generate_responses": []}, BadRequest, "generate_responses must not be empty"),
        (
            {"generate_responses": [response(choice([]), request_id="a")]},
            BadRequest,
            "choice 0 in response a has empty or null token_ids",
        ),
        ({"generate_responses": [response()] * 16_385}, BadRequest, "generate_responses count"),
        ({"generate_responses": [response(choice([1]))], "prompt_tokens": [1, 2]}, ValidationFailed, "must equal"),
        ({"generate_responses": [response(choice([1]))], "model": "other"}, NotFound, "does not exist"),
        ({"generate_responses": [response(choice([1]))], "completion_request": {}}, BadRequest, "prompt"),
    ],
    ids=["none", "no ids", "too many", "lengths", "model", "request"],
)
def test_bodies_that_cannot_be_read_are_refused(
    server: ServedModel, body: Json, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        derender_completion(body, server)


@settings(deadline=None, max_examples=60)
@given(
    text=st.text(st.characters(codec="utf-8"), max_size=40),
    sizes=st.lists(st.integers(1, 5), max_size=20),
    skip_special=st.booleans(),
)
def test_every_chunking_is_the_whole_text(server: ServedModel, text: str, sizes: list[int], skip_special: bool) -> None:
    token_ids = encoded(server, text + "<|endoftext|>.<|im_end|>")
    request = {"completion_request": {**REQUEST, "logprobs": 1, "skip_special_tokens": skip_special}}
    body = {"generate_responses": [response(choice(token_ids, logprobs=logprobs(token_ids)))], **request}
    (answer,) = derender_completion(body, server)["choices"]
    stream = [
        response(
            choice(part["choices"][0]["token_ids"], part["choices"][0]["finish_reason"])
            | {"logprobs": logprobs(part["choices"][0]["token_ids"])}
        )
        for part in events(split(token_ids, sizes))
    ]
    chunks = replayed(stream, server, request, derender=derender_completion)

    assert put_together(chunks)["text"] == answer["text"]
    told = [chunk["choices"][0]["logprobs"] for chunk in chunks]
    for name in ("tokens", "text_offset", "token_logprobs"):
        assert [entry for part in told for entry in part[name]] == answer["logprobs"][name]


def test_a_chunk_and_its_state(server: ServedModel) -> None:
    body = {
        "stream": True,
        "generate_chunk": response(choice(encoded(server, "Hi"), None), prompt_token_ids=[4]),
        "completion_request": {**REQUEST, "return_token_ids": True},
    }
    answer = derender_completion(body, server)

    assert list(answer["chunk"]) == [
        *("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "metrics"),
        "kv_transfer_params",
    ]
    (told,) = answer["chunk"]["choices"]
    assert list(told) == [
        *("index", "text", "logprobs", "finish_reason", "stop_reason", "prompt_token_ids", "token_ids"),
        "weight_versions",
    ]
    assert told["prompt_token_ids"] == [4]
    assert answer["stream_state"]["logprob_text_offset"] == 2
    assert len(json.dumps(answer)) < 2000


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"completion_request": {**REQUEST, "stop": "x"}}, "stop strings are not supported"),
        ({"prompt_token_ids": [1] * 4097}, "prompt_token_ids length"),
        ({"generate_chunk": response(choice([1]), choice([1], index=1))}, "derender_completion_stream expects"),
        ({"generate_chunk": response(choice([1] * 4097))}, "exceeds max_model_len"),
        ({"stream_state": {"resume": "1.abc"}}, "invalid stream_state"),
    ],
    ids=["stop", "prompt", "choices", "chunk", "state"],
)
def test_chunks_that_cannot_be_read_are_refused(server: ServedModel, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message):
        derender_completion({"stream": True, "generate_chunk": response(choice([1], None)), **changes}, server)


def test_what_the_engine_told_is_passed_on(server: ServedModel) -> None:
    told: Json = {"ec_transfer_params": {"a": [1]}, "metrics": {"speculative_decoding": {"odd": None}}}
    engine = response(choice([1]), **told)

    answers = [
        derender_completion({"generate_responses": [engine]}, server),
        derender_chat({"generate_response": engine}, server),
    ]

    assert [{name: answer[name] for name in told} for answer in answers] == [told, told]
