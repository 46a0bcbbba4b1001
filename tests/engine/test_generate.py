"""Whole answers of the engine, over HTTP, on a tiny random model."""

from __future__ import annotations

import base64
import io
import math
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from renderlayer.served_model import ServedModel
from tests.engine.serving import Service
from tests.engine.tiny import load_model

PROMPT = [40, 41, 300, 42, 7, 300, 9]


@pytest.fixture(scope="module")
def distribution(tiny_folder: Path) -> torch.Tensor:
    """Log-probabilities after each token of PROMPT, straight from the model: [tokens, vocabulary]."""
    with torch.inference_mode():
        return torch.log_softmax(load_model(tiny_folder)(torch.tensor([PROMPT])).logits[0].float(), dim=-1)


def test_greedy_tokens_are_those_of_transformers(service: Service, tiny_folder: Path) -> None:
    model = load_model(tiny_folder)
    model.generation_config.eos_token_id = None
    for prompt in (PROMPT, [5], list(range(3, 400, 2)) * 4):
        ids = torch.tensor([prompt])
        expected = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=24, do_sample=False)
        assert service.tokens(prompt, max_tokens=24, ignore_eos=True) == expected[0, len(prompt) :].tolist()


def test_the_answer_has_every_key_in_order(service: Service) -> None:
    answer = service.generate(PROMPT, max_tokens=3, ignore_eos=True)
    assert ",".join(answer) == (
        "request_id,model,created,usage,prompt_logprobs,prompt_token_id_logprobs,prompt_token_ids,mm_placeholders,"
        "metrics,kv_transfer_params,ec_transfer_params,output_mode,choices"
    )
    assert answer["usage"] == {
        "prompt_tokens": 7,
        "total_tokens": 10,
        "completion_tokens": 3,
        "prompt_tokens_details": None,
        "completion_tokens_details": None,
    }
    (choice,) = answer["choices"]
    assert ",".join(choice) == (
        "index,finish_reason,stop_reason,token_ids,routed_experts,sampling_mask,weight_versions,logprobs"
    )
    assert (choice["finish_reason"], choice["stop_reason"]) == ("length", None)
    assert choice["weight_versions"] == [{"version": "default", "start": 0, "end": 3}]
    assert (answer["model"], answer["output_mode"], answer["prompt_token_ids"]) == ("tiny", "tokens", None)
    assert answer["request_id"].startswith("generate-tokens-")


def test_request_ids_come_from_the_header_before_the_body(service: Service) -> None:
    body = {"token_ids": [5], "sampling_params": {"max_tokens": 1}, "request_id": "mine"}
    assert service.post(**body).json()["request_id"] == "generate-tokens-mine"
    response = service.client.post("/inference/v1/generate", json=body, headers={"X-Request-Id": "theirs"})
    assert response.json()["request_id"] == "generate-tokens-theirs"


def test_seeds_repeat_and_choices_differ(service: Service) -> None:
    def tokens(**params: Any) -> list[list[int]]:
        answer = service.generate(PROMPT, temperature=1.0, max_tokens=6, ignore_eos=True, **params)
        return [choice["token_ids"] for choice in answer["choices"]]

    three = tokens(seed=3, n=3)
    assert three == tokens(seed=3, n=3)
    assert three[1:] == tokens(seed=4, n=2)
    assert len({tuple(one) for one in three}) == 3
    assert tokens() != tokens()


def test_without_max_tokens_the_answer_goes_to_the_end_of_the_context(service: Service) -> None:
    answer = service.generate([5] * 1000, ignore_eos=True)
    assert answer["usage"]["total_tokens"] == 1024
    assert service.generate([5] * 1000, ignore_eos=True, max_tokens=5000)["usage"]["completion_tokens"] == 24
    assert service.generate([5] * 1000, ignore_eos=True, max_tokens=None)["usage"]["completion_tokens"] == 24


def test_end_tokens(service: Service, tiny: ServedModel) -> None:
    eos, other = tiny.model.facts.eos_token_ids
    assert eos == tiny.model.facts.eos_token_id

    def ended(token: int, **params: Any) -> tuple[Any, Any, int]:
        (choice,) = service.generate(PROMPT, max_tokens=5, logit_bias={str(token): 100}, **params)["choices"]
        return choice["finish_reason"], choice["stop_reason"], len(choice["token_ids"])

    assert ended(eos) == ("stop", None, 1)
    assert ended(other) == ("stop", other, 1)
    assert ended(300, stop_token_ids=[300]) == ("stop", 300, 1)
    assert ended(eos, min_tokens=3) == ("stop", None, 4)
    assert ended(eos, ignore_eos=True) == ("length", None, 5)
    assert ended(eos, ignore_eos=True, stop_token_ids=[eos]) == ("stop", eos, 1)


def test_logprobs_of_the_first_token(service: Service, distribution: torch.Tensor) -> None:
    expected = distribution[-1]
    (choice,) = service.generate(PROMPT, max_tokens=1, logprobs=4, temperature=1.0, seed=2)["choices"]
    (entry,) = choice["logprobs"]["content"]
    token = choice["token_ids"][0]
    assert list(entry) == ["token_id", "logprob", "rank", "top_logprobs"]
    assert entry["token_id"] == token
    assert entry["logprob"] == pytest.approx(expected[token].item(), abs=1e-4)
    assert entry["rank"] == int((expected > expected[token]).sum()) + 1
    best = torch.topk(expected, 4).indices.tolist()
    assert [row["token_id"] for row in entry["top_logprobs"]] == [token, *(one for one in best if one != token)]
    assert entry["top_logprobs"][0] == {name: entry[name] for name in ("token_id", "logprob", "rank")}


def test_all_logprobs_make_up_one(service: Service, tiny: ServedModel) -> None:
    (choice,) = service.generate(PROMPT, max_tokens=2, logprobs=-1, ignore_eos=True)["choices"]
    for entry in choice["logprobs"]["content"]:
        rows = entry["top_logprobs"]
        assert len(rows) == len(tiny.model.vocabulary)
        assert math.fsum(math.exp(row["logprob"]) for row in rows) == pytest.approx(1, abs=1e-4)
        assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))


def test_logprobs_are_of_the_model_not_of_the_sampling(service: Service, distribution: torch.Tensor) -> None:
    (choice,) = service.generate(PROMPT, max_tokens=1, logprobs=0, logit_bias={"300": 100})["choices"]
    (entry,) = choice["logprobs"]["content"]
    assert entry["logprob"] == pytest.approx(distribution[-1][300].item(), abs=1e-4)
    assert len(entry["top_logprobs"]) == 1


def test_logprobs_of_chosen_tokens(service: Service, distribution: torch.Tensor) -> None:
    (choice,) = service.generate(PROMPT, max_tokens=1, logprobs=2, logprob_token_ids=[11, 12])["choices"]
    rows = choice["logprobs"]["content"][0]["top_logprobs"]
    assert [row["token_id"] for row in rows] == [choice["token_ids"][0], 11, 12]
    assert rows[1]["logprob"] == pytest.approx(distribution[-1][11].item(), abs=1e-4)
    assert service.generate(PROMPT, max_tokens=1, logprob_token_ids=[11])["choices"][0]["logprobs"] is None


def test_prompt_logprobs(service: Service, distribution: torch.Tensor, tiny: ServedModel) -> None:
    rows = service.generate(PROMPT, max_tokens=1, prompt_logprobs=2)["prompt_logprobs"]
    assert rows[0] is None
    assert len(rows) == len(PROMPT)
    for at, (row, token) in enumerate(zip(rows[1:], PROMPT[1:], strict=True)):
        first = next(iter(row))
        assert first == str(token)
        assert row[first]["logprob"] == pytest.approx(distribution[at][token].item(), abs=1e-4)
        assert row[first]["decoded_token"] == tiny.model.tokenizer.decode([token])
        assert {row[key]["rank"] for key in row} >= {1, 2}


def test_prompt_logprobs_of_chosen_tokens(service: Service, distribution: torch.Tensor) -> None:
    answer = service.generate(PROMPT, max_tokens=1, prompt_logprob_token_ids=[11, 12, 13], prompt_logprob_start=2)
    matrix = numpy.load(io.BytesIO(base64.b64decode(answer["prompt_token_id_logprobs"])))
    assert matrix.dtype == numpy.float32
    numpy.testing.assert_allclose(matrix, distribution[2:-1, 11:14].numpy(), atol=1e-4)


def test_a_long_prompt_scores_as_one_piece_would(service: Service, tiny_folder: Path) -> None:
    prompt = [number % 400 for number in range(900)]
    with torch.inference_mode():
        scores = torch.log_softmax(load_model(tiny_folder)(torch.tensor([prompt])).logits[0].float(), dim=-1)
    rows = service.generate(prompt, max_tokens=1, prompt_logprobs=0)["prompt_logprobs"]
    found = [next(iter(row.values()))["logprob"] for row in rows[1:]]
    assert found == pytest.approx([scores[at, token].item() for at, token in enumerate(prompt[1:])], abs=1e-3)


def test_forced_tokens_and_stop_strings(service: Service, tiny: ServedModel) -> None:
    ids = tiny.model.tokenizer.encode("Hello world, thank you. Yes, it is.")

    def said(**params: Any) -> tuple[str, Any, Any, int]:
        response = service.post(
            token_ids=[5], sampling_params={"trace_decode_token_ids": ids, **params}, output_mode="text"
        )
        (choice,) = response.json()["choices"]
        return choice["text"], choice["finish_reason"], choice["stop_reason"], len(choice["token_ids"])

    assert said(max_tokens=99) == ("Hello world, thank you. Yes, it is.", "length", None, len(ids))
    text, reason, string, count = said(max_tokens=99, stop=["Yes", "thank"])
    assert (text, reason, string) == ("Hello world, ", "stop", "thank")
    assert 0 < count < len(ids)
    assert said(max_tokens=99, stop=["thank"], include_stop_str_in_output=True)[0] == "Hello world, thank"
    assert said(max_tokens=99, stop=["Hello"], min_tokens=len(ids) - 1)[1] == "length"


def test_text_mode_spells_logprobs(service: Service, tiny: ServedModel) -> None:
    ids = tiny.model.tokenizer.encode("é你")
    params = {"trace_decode_token_ids": ids, "max_tokens": 9, "logprobs": 1}
    (choice,) = service.post(token_ids=[5], sampling_params=params, output_mode="text").json()["choices"]
    assert list(choice)[-2:] == ["text", "logprobs"]
    entries = choice["logprobs"]["content"]
    assert list(entries[0]) == ["token", "logprob", "bytes", "top_logprobs"]
    assert "".join(entry["token"] for entry in entries) == "é你"


def test_bad_words_and_allowed_tokens(service: Service, tiny: ServedModel) -> None:
    assert set(service.tokens(PROMPT, max_tokens=5, allowed_token_ids=[100, 200])) <= {100, 200}
    encode = tiny.model.tokenizer.encode
    first = service.tokens(PROMPT, max_tokens=1, ignore_eos=True)[0]
    word = "hello"
    banned = service.tokens(PROMPT, max_tokens=3, bad_words=[word], logit_bias={str(encode(word)[-1]): 100})
    assert banned[: len(encode(word))] != encode(word)
    assert first == service.tokens(PROMPT, max_tokens=1, bad_words=["unlikely"], ignore_eos=True)[0]


def test_repetition_is_found(service: Service) -> None:
    detection = {"max_pattern_size": 3, "min_pattern_size": 1, "min_count": 4}
    params = {"trace_decode_token_ids": [9, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2], "max_tokens": 50}
    (choice,) = service.generate(PROMPT, repetition_detection=detection, **params)["choices"]
    assert (choice["finish_reason"], choice["token_ids"]) == ("repetition", [9, 1, 2, 1, 2, 1, 2, 1, 2])
