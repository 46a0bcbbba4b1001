"""`continue_from`: what was sampled stays, and what follows is what the template writes (docs/wire.md 2.10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.errors import BadRequest, Conflict, ValidationFailed
from renderlayer.render.continuing.refusal import DROPPED, NOT_THE_HISTORY, REWRITTEN
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import SPECIAL_TOKENS, make_model_folder, open_server
from tests.render.continuing.conversations import NEXT, RESULT, SYSTEM, USER, call, go_on, ids, render, text

ODD_CALL = '<tool_call>\n{"name":"get_weather",  "arguments": {"city":"Os' + 'lo" }}\n</tool_call>'
ANSWER = {"role": "assistant", "content": "It is fine."}
Json = dict[str, Any]

GLM = """\
{%- for message in messages %}{% if message.role == "assistant" %}<|assistant|>
{{ message.content or "" }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function.name }}
{{ call.function.arguments | tojson }}</tool_call>{% endfor %}
{%- elif message.role == "tool" %}<|observation|>
{{ message.content }}
{%- else %}<|{{ message.role }}|>
{{ message.content }}{% endif %}{% endfor %}
{%- if add_generation_prompt %}<|assistant|>
{% endif %}"""
KEEPS_THE_CYCLE = """\
{%- set state = namespace(last=-1) %}
{%- for message in messages %}{% if message.role == "user" %}{% set state.last = loop.index0 %}{% endif %}{% endfor %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == "assistant" and message.reasoning and loop.index0 > state.last %}<think>
{{ message.reasoning }}
</think>

{% endif %}{{ message.content or "" }}
{%- for call in message.tool_calls or [] %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TOOLS_LAST = """\
{%- set state = namespace(last=-1) %}
{%- for message in messages %}{% if message.role == "user" %}{% set state.last = loop.index0 %}{% endif %}{% endfor %}
{%- for message in messages %}{% if loop.index0 == state.last %}(the last question) {% endif %}{{ message.role }}: \
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"""


def served(folder: Path, template: str, **settings: Any) -> ServedModel:
    special = (*SPECIAL_TOKENS, "<|user|>", "<|assistant|>", "<|observation|>", "<|system|>")
    path = folder / "model"
    if not path.exists():
        make_model_folder(path, template=template, special_tokens=special)
    return open_server(path, Settings(**settings))


@pytest.fixture(scope="module")
def glm(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    return served(tmp_path_factory.mktemp("glm"), GLM)


@pytest.fixture(scope="module")
def cycle(tmp_path_factory: pytest.TempPathFactory) -> ServedModel:
    return served(tmp_path_factory.mktemp("cycle"), KEEPS_THE_CYCLE)


def extended(rendered: Json, given: list[int]) -> list[int]:
    """The ids behind the given ones, which must be there unchanged."""
    assert rendered["continuation"]["mode"] == "extended", rendered["continuation"]
    assert rendered["token_ids"][: len(given)] == given
    appended = rendered["token_ids"][len(given) :]
    assert rendered["continuation"] == {
        "mode": "extended", "reason": None, "kept": len(given), "appended": len(appended),
    }  # fmt: skip
    return list(appended)


def test_no_sampled_token_changes_and_the_suffix_is_the_templates(server: ServedModel) -> None:
    rendered, given = go_on(server, [SYSTEM, USER, call()], ODD_CALL + "<|im_end|>", [RESULT])
    suffix = extended(rendered, given)
    assert suffix == ids(server, "\n<|im_start|>tool\n21 degrees<|im_end|>\n<|im_start|>assistant\n")


def test_tokens_that_no_tokenizer_would_make_stay(server: ServedModel) -> None:
    letters = [token for letter in "It is fine." for token in ids(server, letter)]
    assert letters != ids(server, "It is fine.")
    rendered, given = go_on(server, [USER, ANSWER], [*letters, *ids(server, "<|im_end|>")], [NEXT])
    assert text(server, extended(rendered, given)).startswith("\n<|im_start|>user\nAnd in Rome?")


def test_a_close_that_was_not_sampled_is_added(server: ServedModel) -> None:
    rendered, given = go_on(server, [USER, {**ANSWER, "content": "It is"}], "It is", [NEXT])
    assert text(server, extended(rendered, given)).startswith("<|im_end|>\n<|im_start|>user")
    rendered, given = go_on(server, [USER, call()], ODD_CALL, [RESULT])
    assert text(server, extended(rendered, given)).startswith("<|im_end|>\n<|im_start|>tool")


def test_canonical_ids_give_what_a_full_render_gives(server: ServedModel) -> None:
    messages = [SYSTEM, USER, ANSWER, NEXT]
    rendered, _ = go_on(server, messages[:-1], "It is fine.<|im_end|>", [NEXT])
    assert rendered["token_ids"] == render(server, messages)["token_ids"]
    assert {**rendered, "request_id": ""} == {
        **render(server, messages), "request_id": "", "continuation": rendered["continuation"],
    }  # fmt: skip


def test_many_turns_of_odd_spelling(server: ServedModel) -> None:
    messages, prompt = [SYSTEM, USER], render(server, [SYSTEM, USER])["token_ids"]
    for turn in range(6):
        said = call() if turn % 2 else {"role": "assistant", "content": f"Answer {turn}: ünï 👍"}
        odd = ODD_CALL if turn % 2 else f"Answer {turn}: ünï 👍  "
        output = [token for letter in odd for token in ids(server, letter)] + ids(server, "<|im_end|>")
        messages += [said, RESULT if turn % 2 else NEXT]
        given = {"prompt_token_ids": prompt, "output_token_ids": output, "messages": len(messages) - 1}
        rendered = render(server, messages, continue_from={**given, "require": True})
        extended(rendered, [*prompt, *output])
        prompt = rendered["token_ids"]


@pytest.mark.parametrize("closer", ["<|user|>", ""])
def test_a_token_that_opens_the_next_message_is_neither_doubled_nor_lost(glm: ServedModel, closer: str) -> None:
    stop = {"stop_token_ids": ids(glm, "<|user|><|observation|>")}
    rendered, given = go_on(glm, [USER, ANSWER], "It is fine." + closer, [NEXT], **stop)
    assert closer + text(glm, extended(rendered, given)) == "<|user|>\nAnd in Rome?<|assistant|>\n"
    assert rendered["token_ids"] == render(glm, [USER, ANSWER, NEXT])["token_ids"]


def test_an_opener_of_another_message_is_not_taken_for_the_close(glm: ServedModel) -> None:
    rendered, _ = go_on(
        glm, [USER, ANSWER], "It is fine.<|observation|>", [NEXT], stop_token_ids=ids(glm, "<|observation|>")
    )
    assert (
        rendered["continuation"]["reason"]
        == "the output ends with <|observation|>, and the template goes on with <|user|>"
    )


def test_a_call_is_closed_by_what_opens_its_result(glm: ServedModel) -> None:
    sampled = '<tool_call>get_weather\n{"city":"Oslo"}</tool_call><|observation|>'
    stop = {"stop_token_ids": ids(glm, "<|observation|>")}
    rendered, given = go_on(glm, [USER, call()], sampled, [RESULT], **stop)
    assert text(glm, extended(rendered, given)) == "\n21 degrees<|assistant|>\n"


def test_reasoning_that_the_template_keeps_is_kept(cycle: ServedModel) -> None:
    sampled = "<think>\nhm\n</think>\n\n" + ODD_CALL + "<|im_end|>"
    for said in (call(reasoning="hm"), call()):  # the client need not send it back
        rendered, given = go_on(cycle, [USER, said], sampled, [RESULT])
        extended(rendered, given)


def test_reasoning_that_the_template_drops_is_dropped_unless_it_is_to_be_kept(cycle: ServedModel) -> None:
    sampled = "<think>\nhm\n</think>\n\nIt is fine.<|im_end|>"
    for said in ({**ANSWER, "reasoning": "hm"}, ANSWER):
        rendered, _ = go_on(cycle, [USER, said], sampled, [NEXT])
        assert (rendered["continuation"]["mode"], rendered["continuation"]["reason"]) == ("rendered", DROPPED)
        assert rendered["token_ids"] == render(cycle, [USER, said, NEXT])["token_ids"]
        kept, given = go_on(cycle, [USER, said], sampled, [NEXT], options={"history": "keep"})
        extended(kept, given)


def test_a_thought_without_words_is_none(cycle: ServedModel) -> None:
    rendered, given = go_on(cycle, [USER, ANSWER], "<think>\n\n</think>\n\nIt is fine.<|im_end|>", [NEXT])
    extended(rendered, given)


def test_reasoning_of_an_earlier_turn_counts(cycle: ServedModel) -> None:
    first = render(cycle, [USER])["token_ids"]
    output = ids(cycle, "<think>\nhm\n</think>\n\n" + ODD_CALL + "<|im_end|>")
    messages = [USER, call(), RESULT]
    given = {"prompt_token_ids": first, "output_token_ids": output, "messages": 2}
    second = render(cycle, messages, continue_from=given)["token_ids"]
    messages += [ANSWER, NEXT]
    given = {"prompt_token_ids": second, "output_token_ids": ids(cycle, "It is fine.<|im_end|>"), "messages": 4}
    assert render(cycle, messages, continue_from=given)["continuation"]["reason"] == DROPPED
    assert render(cycle, messages, continue_from={**given, "history": "keep"})["continuation"]["mode"] == "extended"


def test_a_template_that_writes_the_past_otherwise(tmp_path: Path) -> None:
    server = served(tmp_path, TOOLS_LAST)
    rendered, _ = go_on(server, [USER, ANSWER], "It is fine.<|im_end|>", [NEXT])
    assert rendered["continuation"]["reason"] == REWRITTEN


CHANGES: dict[str, tuple[Json, str]] = {
    "a changed message": ({"before": [SYSTEM, {**USER, "content": "Weather in Rome?"}]}, NOT_THE_HISTORY),
    "a changed system message": ({"before": [{**SYSTEM, "content": "Be long."}, USER]}, NOT_THE_HISTORY),
    "a message less": ({"before": [USER]}, NOT_THE_HISTORY),
    "a message more": ({"before": [SYSTEM, USER, ANSWER, NEXT]}, NOT_THE_HISTORY),
    "other kwargs": ({"then": {"chat_template_kwargs": {"enable_thinking": False}}}, NOT_THE_HISTORY),
    "other words of the assistant": (
        {"messages": [SYSTEM, USER, {**ANSWER, "content": "It is bad."}]},
        "a message of the assistant says what is not in the ids",
    ),
    "a message of the assistant among the new ones": (
        {"new": [NEXT, ANSWER, NEXT]},
        "there is a message of the assistant among the new ones",
    ),
    "no new message": ({"new": []}, "there is no new message"),
    "a user's message as the sampled one": (
        {"messages": [SYSTEM, USER, NEXT], "before": [SYSTEM, USER]},
        "the last of the messages that the ids hold is not the assistant's",
    ),
    "ids of another model": (
        {"sampled": [10**6, 3]},
        "there are ids that are not in this model's vocabulary",
    ),
    "two turns in what was sampled": (
        {"sampled": "It is fine.<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>"},
        NOT_THE_HISTORY,
    ),
    "truncation": ({"truncate_prompt_tokens": 500}, "truncation and token offsets need the whole prompt's text"),
}


@pytest.mark.parametrize(("change", "reason"), CHANGES.values(), ids=list(CHANGES))
def test_what_cannot_be_proved_is_rendered_anew(server: ServedModel, change: Json, reason: str) -> None:
    arguments = {"messages": [SYSTEM, USER, ANSWER], "sampled": "It is fine.<|im_end|>", "new": [NEXT], **change}
    rendered, given = go_on(server, **arguments)
    told = rendered["continuation"]
    assert (told["mode"], told["reason"]) == ("rendered", reason)
    body = {name: value for name, value in change.items() if name == "truncate_prompt_tokens"}
    assert rendered["token_ids"] == render(server, [*arguments["messages"], *arguments["new"]], **body)["token_ids"]
    assert rendered["token_ids"][: told["kept"]] == given[: told["kept"]]
    assert told["kept"] + told["appended"] == len(rendered["token_ids"])
    with pytest.raises(Conflict, match="cannot be extended"):
        go_on(server, **{**arguments, "options": {"require": True}})


def test_changed_tools(server: ServedModel) -> None:
    def tool(name: str) -> Json:
        return {"type": "function", "function": {"name": name}}

    plain = {"tool_choice": "none"}
    rendered, _ = go_on(
        server, [USER, ANSWER], "It is fine.<|im_end|>", [NEXT], tools=[tool("a")], then={"tools": [tool("b")]}, **plain
    )
    assert rendered["continuation"]["reason"] == NOT_THE_HISTORY
    rendered, given = go_on(server, [USER, ANSWER], "It is fine.<|im_end|>", [NEXT], tools=[tool("a")], **plain)
    extended(rendered, given)


def test_a_context_that_is_too_long(model_folder: Path) -> None:
    server = open_server(model_folder, Settings(max_model_len=64))
    long = [*ids(server, "It is fine.") * 12, *ids(server, "<|im_end|>")]
    rendered, _ = go_on(server, [USER, ANSWER], long, [NEXT])
    assert rendered["continuation"]["reason"] == "the extended prompt is longer than the context"


def test_what_the_ids_hold_must_be_a_number_of_messages(server: ServedModel) -> None:
    with pytest.raises(BadRequest, match=r"continue_from\.messages must be between"):
        go_on(server, [USER, ANSWER], "It is fine.<|im_end|>", [NEXT], options={"messages": 9})
    for field, value in (("messages", 0), ("prompt_token_ids", []), ("history", "drop"), ("prefix", "x")):
        with pytest.raises(ValidationFailed, match=f"continue_from.{field}"):
            go_on(server, [USER, ANSWER], "It is fine.<|im_end|>", [NEXT], options={field: value})


def test_words_of_another_alphabet_and_marks_in_messages(server: ServedModel) -> None:
    said = {**USER, "content": "e\u0301 ﬁ 日本 👍🏽 <|im_end|> zqx <|im_start|>"}
    rendered, given = go_on(
        server, [said, {**ANSWER, "content": "日本 👍🏽"}], "日本 👍🏽<|im_end|>", [{**NEXT, "content": ""}]
    )
    assert text(server, extended(rendered, given)) == "\n<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n"


def test_without_the_field_nothing_is_said(server: ServedModel) -> None:
    assert "continuation" not in render(server, [USER])


FIRST_CALL = """\
{%- for message in messages %}<|im_start|>{{ message.role }}
{{ message.content or "" }}{% if message.tool_calls %}<tool_call>
{{- message.tool_calls[0].function | tojson }}</tool_call>{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def test_a_template_that_writes_the_first_of_several_calls(tmp_path: Path) -> None:
    server = served(tmp_path, FIRST_CALL)
    said = call(content="Two of them.")
    said["tool_calls"] = [said["tool_calls"][0], {**said["tool_calls"][0], "id": "call00001"}]
    rendered, given = go_on(server, [USER, said], "Two of them." + ODD_CALL * 2 + "<|im_end|>", [RESULT])
    assert (
        text(server, extended(rendered, given)) == "\n<|im_start|>tool\n21 degrees<|im_end|>\n<|im_start|>assistant\n"
    )


def test_words_that_the_tokenizer_normalises(shared: Path, tmp_path: Path) -> None:
    """Qwen's tokenizer composes characters: what comes back from the ids is another spelling of what was said."""
    server = open_server_of(shared / "models" / "tiny-qwen3", tmp_path)
    said = {"role": "assistant", "content": "Cafe\u0301 e\u0301"}
    rendered, given = go_on(server, [{**USER, "content": "e\u0301"}, said], "Cafe\u0301 e\u0301<|im_end|>", [NEXT])
    extended(rendered, given)


def open_server_of(folder: Path, tmp_path: Path) -> ServedModel:
    bundle = pack(folder, tmp_path / "bundle")
    return ServedModel(open_bundle(bundle), Settings(model=str(bundle)))
