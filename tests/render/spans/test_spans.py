"""`return_token_spans`: whose each token is, and which a model would have sampled (docs/wire.md 2.11)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from renderlayer.errors import BadRequest
from renderlayer.http.batch_endpoints import endpoints
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import make_model_folder, open_server
from tests.render.continuing.conversations import RESULT, SYSTEM, TOOLS, USER, Json, call, render, text
from tests.render.continuing.laws import conversation
from tests.render.continuing.museum import make_museum, with_template

TALK = [SYSTEM, USER, call(content="Let me see."), RESULT, {"role": "assistant", "content": "21 degrees."}]
TAGGED = """\
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == "assistant" %}{% generation %}{{ message.content }}<|im_end|>{% endgeneration %}

{% else %}{{ message.content }}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def told(server: ServedModel, messages: list[Json], **body: Any) -> Json:
    return render(server, messages, return_token_spans=True, **body)


def spelled(server: ServedModel, answer: Json) -> list[tuple[int, str, str]]:
    """Message, part and text of each run."""
    ids = answer["token_ids"]
    return [(message, kind, text(server, ids[start:end])) for start, end, message, kind in answer["token_spans"]]


def sampled(server: ServedModel, answer: Json) -> list[str]:
    """The texts of the mask's runs."""
    out, before = [], 0
    for token, flag in zip(answer["token_ids"], answer["assistant_mask"], strict=True):
        if flag:
            if before:
                out[-1].append(token)
            else:
                out.append([token])
        before = flag
    return [text(server, run) for run in out]


def test_whose_each_token_is(server: ServedModel) -> None:
    answer = told(server, TALK, add_generation_prompt=False)
    assert spelled(server, answer) == [
        (0, "content", "Be brief."),
        (1, "content", "Weather in Oslo?"),
        (2, "content", "Let me see."),
        (2, "call 0", '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'),
        (3, "result", "21 degrees"),
        (4, "content", "21 degrees."),
    ]
    assert answer["mixed_tokens"] == 0


def test_what_a_model_would_have_sampled(server: ServedModel) -> None:
    assert sampled(server, told(server, TALK, add_generation_prompt=False)) == [
        'Let me see.<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call><|im_end|>',
        "21 degrees.<|im_end|>",
    ]
    assert sampled(server, told(server, [SYSTEM, USER])) == []


def test_several_calls(server: ServedModel) -> None:
    said = call()
    said["tool_calls"] += [{**said["tool_calls"][0], "id": "b"}, {**said["tool_calls"][0], "id": "c"}]
    kinds = [row[3] for row in told(server, [USER, said, RESULT])["token_spans"]]
    assert kinds == ["content", "call 0", "call 1", "call 2", "result"]


def test_tags_of_the_template_say_what_is_sampled(tmp_path: Path) -> None:
    server = open_server(make_model_folder(tmp_path / "model", template=TAGGED), Settings())
    talk = [USER, {"role": "assistant", "content": "It is fine."}, USER, {"role": "assistant", "content": "Yes. 👍"}]
    assert sampled(server, told(server, talk, add_generation_prompt=False)) == [
        "It is fine.<|im_end|>",
        "Yes. 👍<|im_end|>",
    ]


def test_nothing_is_added_without_the_field(server: ServedModel) -> None:
    assert {"token_spans", "assistant_mask"}.isdisjoint(render(server, TALK))


@pytest.mark.parametrize(
    "more",
    [
        {"truncate_prompt_tokens": 9},
        {"continue_from": {"prompt_token_ids": [1], "output_token_ids": [1], "messages": 1}},
    ],
)
def test_what_has_no_spans_is_refused(server: ServedModel, more: Json) -> None:
    with pytest.raises(BadRequest, match="return_token_spans is of whole prompts"):
        told(server, TALK, **more)


REWRITE = {"cz-falcon-instruct", "google-gemma-4-31B-it-interleaved"}  # line breaks of what is said
TEMPLATES = sorted((Path(__file__).resolve().parents[4] / "shared" / "templates").glob("*.jinja"))


@pytest.fixture(scope="module")
def museum(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_museum(shared / "templates", tmp_path_factory.mktemp("museum"))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_every_template(museum: Path, template: Path) -> None:
    """Runs are disjoint, say what their messages say, and what the assistant says is sampled."""
    server, random = with_template(museum, template), Random(template.stem)
    for number in range(4):
        talk = conversation(random, calls=number % 2 == 1, thinks=number > 1)
        body = {"tools": TOOLS, "tool_choice": "none"} if number % 2 else {}
        try:
            whole = render(server, talk, **body)
        except BadRequest:
            continue
        answer = told(server, talk, **body)
        assert answer["token_ids"] == whole["token_ids"]
        at = 0
        for start, end, index, kind in answer["token_spans"]:
            assert at <= start < end
            at = end
            said = text(server, answer["token_ids"][start:end]).strip()
            if kind in ("content", "reasoning") and template.stem not in REWRITE:
                assert said in (talk[index][kind] or ""), (said, talk[index])
            sampled = set(answer["assistant_mask"][start:end])
            tagged = "generation %}" in template.read_text(encoding="utf-8")
            if not tagged:
                assert sampled == {int(talk[index]["role"] == "assistant")}, (said, kind, talk[index])


def test_it_is_the_mask_of_transformers(shared: Path, museum: Path) -> None:
    """Where a template has `{% generation %}`: the mask of `return_assistant_tokens_mask`."""
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(museum / "tokenizer.json"), bos_token="<s>", eos_token="</s>"
    )
    compared = 0
    for template in TEMPLATES:
        source = template.read_text(encoding="utf-8")
        if "endgeneration" not in source:
            continue
        server, random = with_template(museum, template), Random(template.stem)
        for number in range(6):
            talk = conversation(random, calls=False, thinks=number > 3)
            talk = [*talk, {"role": "assistant", "content": "It is fine."}]
            answer = told(server, talk, add_generation_prompt=False)
            expected = tokenizer.apply_chat_template(
                talk, chat_template=source, tokenize=True, return_dict=True, return_assistant_tokens_mask=True
            )
            if expected["input_ids"] != answer["token_ids"]:
                continue  # the reference hides something from the template, or sees it otherwise
            compared += 1
            assert expected["assistant_masks"] == answer["assistant_mask"], template.stem
    assert compared > 20


def test_a_line_of_a_batch_file_has_them(server: ServedModel) -> None:
    """Data for fine-tuning: a file of conversations in, ids and masks out."""
    work = endpoints(server, None)["/v1/chat/completions/render"].answer
    body = {"messages": TALK, "return_token_spans": True, "add_generation_prompt": False}
    answer: Any = work(body, "one")
    if isinstance(answer, bytes):
        answer = json.loads(answer)
    assert sampled(server, answer)[-1] == "21 degrees.<|im_end|>"
