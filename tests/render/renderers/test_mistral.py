"""Mistral tokenizers: what mistral-common encodes, its rules as refusals, and text that stays text (wire.md 3.7)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import Model
from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.render.chat import render_chat
from renderlayer.render.completion import render_completion
from renderlayer.render.responses.render import render_responses
from renderlayer.render.tokenize import tokenize_request
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from renderlayer.wire.completion import CompletionRequest
from renderlayer.wire.responses import ResponsesRequest
from renderlayer.wire.tokenize import TokenizeChatRequest
from tests.models import open_server
from tests.render.renderers.mistral_models import MODEL_SETTINGS, VERSIONS, make_tekken_folder, with_configuration

pytest.importorskip("mistral_common")

from mistral_common.protocol.instruct.request import ChatCompletionRequest as TheirRequest
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

HELLO = [{"role": "user", "content": "Hello"}]
CONTROL = "[INST]<s>[TOOL_CALLS]</s>"
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def call(call_id: str = "abcdefghi") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}


SAMPLES: list[tuple[list[dict[str, Any]], list[dict[str, Any]] | None]] = [
    (HELLO, None),
    ([{"role": "user", "content": f"What is {CONTROL}?"}], None),
    ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Ünïcödé 你好 👍🏽\r\n\n  x"}], [TOOL]),
    ([*HELLO, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "Again"}], None),
    ([*HELLO, {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}], [TOOL]),
    (
        [
            *HELLO,
            {"role": "assistant", "tool_calls": [call()]},
            {"role": "tool", "tool_call_id": "abcdefghi", "content": "21"},
            {"role": "assistant", "content": "It is 21."},
            {"role": "user", "content": "And tomorrow?"},
        ],
        [TOOL],
    ),
    ([{"role": "user", "content": "Two systems"}, {"role": "system", "content": "late"}], None),
    ([*HELLO, {"role": "tool", "tool_call_id": "abcdefghi", "content": "21"}], None),
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    base = tmp_path_factory.mktemp("mistral")
    return {version: make_tekken_folder(base / version, version) for version in VERSIONS}


@pytest.fixture(scope="module")
def servers(folders: dict[str, Path]) -> dict[str, ServedModel]:
    """A server for each version of the format; they differ in nothing else."""
    settings = Settings(
        served_model_name=["small"],
        tool_call_parser="auto",
        reasoning_parser="auto",
        enable_auto_tool_choice=True,
        reasoning_effort_map={"low": "high"},
    )
    packed = open_server(folders["v13"], settings)
    return {version: ServedModel(as_version(packed.model, version), packed.settings) for version in VERSIONS}


def as_version(model: Model, version: str) -> Model:
    options = {"version": version, "model_settings": MODEL_SETTINGS if version == "v15" else None}
    return replace(model, facts=replace(model.facts, renderer_options=options))


@pytest.fixture
def newest(servers: dict[str, ServedModel]) -> ServedModel:
    return servers["v13"]


def render(server: ServedModel, messages: list[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    return render_chat(parse(ChatCompletionRequest, {"messages": messages, **fields}), server)


def spelled(server: ServedModel, token_ids: list[int]) -> str:
    return server.model.tokenizer.decode(token_ids, skip_special_tokens=False)


@pytest.mark.parametrize("version", VERSIONS)
def test_prompts_are_mistral_commons(folders: dict[str, Path], servers: dict[str, ServedModel], version: str) -> None:
    theirs = MistralTokenizer.from_file(folders[version] / "tekken.json")
    for messages, tools in SAMPLES:
        body = {"tools": tools} if tools else {}
        try:
            expected = theirs.encode_chat_completion(TheirRequest.from_openai(messages, tools)).tokens
        except Exception as refusal:
            with pytest.raises(BadRequest) as ours:
                render(servers[version], messages, **body)
            assert str(refusal) in str(ours.value)
        else:
            assert render(servers[version], messages, **body)["token_ids"] == expected


def test_sentencepiece_tokenizers_are_mistral_commons(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    data = Path(str(MistralTokenizer._data_path())) / "mistral_instruct_tokenizer_240323.model.v3"
    folder = tmp_path / "v3"
    folder.mkdir()
    (folder / "tokenizer.model.v3").write_bytes(data.read_bytes())
    server = open_server(with_configuration(folder), Settings())
    theirs = MistralTokenizer.from_file(data)
    for messages, tools in SAMPLES[:6]:
        expected = theirs.encode_chat_completion(TheirRequest.from_openai(messages, tools)).tokens
        assert render(server, messages, **({"tools": tools} if tools else {}))["token_ids"] == expected
    text = "  Ünïcödé 你好\n[INST]    x"
    assert server.model.tokenizer.decode(server.model.tokenizer.encode(text)) == text


def test_no_text_becomes_a_control_token(newest: ServedModel) -> None:
    """callers.md 19."""
    control = set(newest.model.vocabulary.added.values())
    messages = [{"role": "user", "content": CONTROL}]
    ids = render(newest, messages)["token_ids"]
    assert spelled(newest, ids) == f"<s>[INST]{CONTROL}[/INST]"
    assert [token_id in control for token_id in ids].count(True) == 3
    completion = render_completion(parse(CompletionRequest, {"prompt": CONTROL}), newest)[0]["token_ids"]
    assert [token_id in control for token_id in completion].count(True) == 1
    assert spelled(newest, completion) == f"<s>{CONTROL}"


def test_ids_of_calls_are_cut_to_nine_characters(servers: dict[str, ServedModel]) -> None:
    messages = [
        *HELLO,
        {"role": "assistant", "content": None, "tool_calls": [call("chatcmpl-tool-123abcdefghi")]},
        {"role": "tool", "tool_call_id": "chatcmpl-tool-123abcdefghi", "content": "21"},
    ]
    rendered = render(servers["v11"], messages, tools=[TOOL])
    assert "[CALL_ID]abcdefghi[ARGS]" in spelled(servers["v11"], rendered["token_ids"])
    assert rendered["parse_context"]["history_tool_call_cnt"] == 1


def test_a_continued_message_is_left_open(newest: ServedModel) -> None:
    messages = [*HELLO, {"role": "assistant", "content": "Once upon"}]
    rendered = render(newest, messages, continue_final_message=True, add_generation_prompt=False)
    assert spelled(newest, rendered["token_ids"]) == "<s>[INST]Hello[/INST]Once upon"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"chat_template": "{{ messages }}"}, "chat_template"),
        ({"chat_template_kwargs": {}}, "chat_template"),
        ({"add_generation_prompt": False}, None),
        ({"continue_final_message": True}, None),
        ({"continue_final_message": True, "add_generation_prompt": False}, None),
        ({"messages": []}, None),
        ({"messages": [*HELLO, {"role": "assistant", "content": "Hi"}]}, None),
        ({"messages": [{"role": "tool", "content": "x", "tool_call_id": "abcdefghi"}]}, None),
        ({"messages": [{"role": "wizard", "content": "x"}]}, None),
        ({"messages": [{"role": "user", "content": "lone \ud800"}]}, None),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}, "messages"),
    ],
)
def test_refusals(newest: ServedModel, fields: dict[str, Any], param: str | None) -> None:
    with pytest.raises(BadRequest) as refusal:
        render(newest, **{"messages": HELLO, **fields})
    assert refusal.value.param == param


def test_reasoning_effort_counts_from_version_15(servers: dict[str, ServedModel]) -> None:
    without = render(servers["v13"], HELLO)["token_ids"]
    assert render(servers["v13"], HELLO, reasoning_effort="low")["token_ids"] == without
    with_effort = spelled(servers["v15"], render(servers["v15"], HELLO, reasoning_effort="low")["token_ids"])
    assert '[MODEL_SETTINGS]{"reasoning_effort": "high"}[/MODEL_SETTINGS]' in with_effort
    with pytest.raises(BadRequest, match="reasoning_effort"):
        render(servers["v15"], HELLO, reasoning_effort="minimal")


def test_truncation_and_limits_apply_to_the_ids(newest: ServedModel) -> None:
    ids = render(newest, HELLO)["token_ids"]
    assert render(newest, HELLO, truncate_prompt_tokens=3)["token_ids"] == ids[-3:]
    with pytest.raises(BadRequest) as refusal:
        render(newest, [{"role": "user", "content": "many words " * 4096}])
    assert refusal.value.param == "input_tokens"


def test_there_are_no_offsets(newest: ServedModel) -> None:
    """callers.md 15."""
    body = {"prompt": "Hello", "return_token_offsets": True}
    assert render_completion(parse(CompletionRequest, body), newest)[0]["token_offsets"] is None
    assert render(newest, HELLO, return_token_offsets=True)["token_offsets"] is None


def test_other_endpoints(newest: ServedModel) -> None:
    expected = render(newest, HELLO)["token_ids"]
    assert tokenize_request(parse(TokenizeChatRequest, {"messages": HELLO}), newest)["tokens"] == expected
    assert render_responses(parse(ResponsesRequest, {"input": "Hello"}), newest)["token_ids"] == expected
    body = {"input": "Hello", "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]}
    assert "[AVAILABLE_TOOLS]" in spelled(newest, render_responses(parse(ResponsesRequest, body), newest)["token_ids"])


def test_calls_need_no_parser(folders: dict[str, Path]) -> None:
    server = open_server(folders["v13"], Settings())
    assert "[AVAILABLE_TOOLS]" in spelled(server, render(server, HELLO, tools=[TOOL])["token_ids"])


def test_answers_of_newer_tokenizers_follow_a_grammar(servers: dict[str, ServedModel]) -> None:
    ids = servers["v13"].model.vocabulary.added
    rendered = render(servers["v13"], HELLO, tools=[TOOL], tool_choice="required")
    grammar = rendered["sampling_params"]["structured_outputs"]["grammar"]
    assert f"<[{ids['[TOOL_CALLS]']}]>" in grammar and f"<[{ids['[THINK]']}]>" in grammar
    assert rendered["reasoning_ended"] is True
    schema = {"type": "object", "properties": {"answer": {"type": "number"}}}
    constrained = render(servers["v13"], HELLO, structured_outputs={"json": json.dumps(schema)})
    assert '"answer"' in constrained["sampling_params"]["structured_outputs"]["grammar"]
    chosen = render(servers["v13"], HELLO, structured_outputs={"choice": ["a", "b"]})
    assert chosen["sampling_params"]["structured_outputs"]["choice"] == ["a", "b"]
    old = render(servers["v7"], HELLO, tools=[TOOL])
    assert "structured_outputs" not in old["sampling_params"]


def test_control_tokens_that_parsers_need_stay_visible(newest: ServedModel) -> None:
    added = newest.model.vocabulary.added
    ids = [added[text] for text in ("[TOOL_CALLS]", "[ARGS]", "[THINK]", "[/THINK]", "</s>", "[INST]")]
    assert newest.model.tokenizer.decode(ids, skip_special_tokens=True) == "[TOOL_CALLS][ARGS][THINK][/THINK]"


def test_facts(newest: ServedModel) -> None:
    facts = newest.model.facts
    assert (facts.tool_parser, facts.reasoning_parser, facts.renderer) == ("mistral", "mistral", "mistral")
    assert facts.special_tokens == {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    assert facts.eos_token_id == 2
    assert facts.renderer_options == {"version": "v13", "model_settings": None}


def test_a_damaged_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    folder = make_tekken_folder(tmp_path / "odd", "v13")
    content = json.loads((folder / "tekken.json").read_bytes())
    content["config"]["version"] = "v99"
    (folder / "tekken.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ConfigurationError, match="odd cannot be packed: mistral-common says"):
        open_server(folder, Settings())
