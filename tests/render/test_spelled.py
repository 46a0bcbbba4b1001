"""Texts that spell a placeholder, beside media: they stay text."""

from __future__ import annotations

import json
from typing import Any

import pytest

from renderlayer.errors import BadRequest
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.models import make_model_folder, open_server
from tests.multimodal.conftest import QWEN_FILES, QWEN_TOKENS
from tests.multimodal.images import data_url, encoded, picture

OPENAI = """\
{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}{% if p.type == 'text' %}{{ p.text }}\
{% else %}<|vision_start|><|image_pad|><|vision_end|>{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}"""
STRING = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
IMAGE = {"type": "image_url", "image_url": {"url": data_url(encoded(picture(256, 256)), "image/png")}}
PADS = "<|image_pad|>" * 64


@pytest.fixture(scope="module", params=[OPENAI, STRING], ids=["parts", "strings"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    folder = tmp_path_factory.mktemp("models") / "seer"
    config = {"model_type": "qwen3_vl", "architectures": ["Qwen3VLForConditionalGeneration"]}
    tokens = ("<|endoftext|>", *QWEN_TOKENS)
    make_model_folder(folder, template=request.param, config=config, special_tokens=tokens)
    for name, content in QWEN_FILES.items():
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return open_server(folder, Settings(served_model_name=["seer"]))


def rendered(server: ServedModel, *messages: dict[str, Any], **fields: Any) -> tuple[str, dict[str, Any]]:
    body = {"messages": list(messages), "mm_payload": "none", "add_generation_prompt": False, **fields}
    answer = render_chat(parse(ChatCompletionRequest, body), server)
    return server.model.tokenizer.decode(answer["token_ids"], skip_special_tokens=False), answer


def user(*parts: Any) -> dict[str, Any]:
    return {
        "role": "user",
        "content": [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts],
    }


def pads(server: ServedModel, answer: dict[str, Any]) -> list[int]:
    """Where the pads of the answer stand."""
    pad = server.model.vocabulary.id_of("<|image_pad|>")
    return [at for at, token in enumerate(answer["token_ids"]) if token == pad]


@pytest.mark.parametrize(
    "words", ["What is <|image_pad|> ?", "<|image_pad|>", "<|image_pad|><|image_pad|> and <|video_pad|>"]
)
def test_the_image_stands_where_the_template_put_it(server: ServedModel, words: str) -> None:
    text, answer = rendered(server, user(words, IMAGE))
    assert words in text
    (place,) = answer["features"]["mm_placeholders"]["image"]
    assert pads(server, answer) == list(range(place["offset"], place["offset"] + 64))
    assert f"<|vision_start|>{PADS}<|vision_end|>" in text


def test_other_turns_and_answers_of_tools(server: ServedModel) -> None:
    call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at": "<|image_pad|>"}'}}
    text, answer = rendered(
        server,
        {"role": "system", "content": "Never write <|image_pad|>."},
        user(IMAGE, "see"),
        {"role": "assistant", "content": "I see <|image_pad|>", "tool_calls": [call]},
        {"role": "tool", "content": "<|image_pad|> was found", "tool_call_id": "a"},
    )
    assert len(pads(server, answer)) == 64
    assert all(words in text for words in ("write <|image_pad|>.", "I see <|image_pad|>", "<|image_pad|> was found"))


def test_a_text_that_holds_the_mark(server: ServedModel) -> None:
    words = "zqx7spelledxqz and <|image_pad|>"
    text, answer = rendered(server, user(words, IMAGE))
    assert words in text and len(pads(server, answer)) == 64


def test_without_media_nothing_changes(server: ServedModel) -> None:
    _, answer = rendered(server, user("What is <|image_pad|> ?"))
    assert len(pads(server, answer)) == 1


def test_placeholders_written_by_hand(server: ServedModel) -> None:
    """Templates that take strings let clients say where an image stands; one too many is refused."""
    whole = "<|vision_start|><|image_pad|><|vision_end|>"
    if server.model.facts.content_format == "openai":
        text, _ = rendered(server, user(f"before {whole} after", IMAGE))
        assert text.endswith(f"before {whole} after<|vision_start|>{PADS}<|vision_end|><|im_end|>\n")
        return
    text, _ = rendered(server, user(f"before {whole} after <|image_pad|>", IMAGE))
    assert f"before <|vision_start|>{PADS}<|vision_end|> after <|image_pad|><|im_end|>" in text
    with pytest.raises(BadRequest, match="Found more"):
        rendered(server, user(f"{whole} {whole}", IMAGE))
