"""Which template a request gets, and what it renders (wire.md 3.4, 3.5)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import Templates, open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.settings import Settings
from tests.bundle.conftest import MakeFolder

HELLO = [{"role": "user", "content": "Hello"}]
PROMPT = {"add_generation_prompt": True}


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Templates:
    """A model without a template: only requests bring one."""
    from tests.bundle.conftest import write_folder

    folder = tmp_path_factory.mktemp("plain")
    special = {"bos_token": "<s>", "eos_token": "</s>"}
    source = write_folder(folder / "model", "byte_level", {"tokenizer_config.json": special})
    return open_bundle(pack(source, folder / "bundle")).templates


def templates_of(folder: Path, **settings: Any) -> Templates:
    bundle = folder.with_name(folder.name + ".bundle")
    if not bundle.exists():
        pack(folder, bundle)
    return open_bundle(bundle, Settings(**settings)).templates


def render(templates: Templates, source: str | None, kwargs: dict[str, Any] = PROMPT, **more: Any) -> str:
    template = templates.resolve(source, bool(more.get("tools")))
    return template.render(more.get("messages", HELLO), more.get("tools"), more.get("documents"), kwargs)


def test_no_template_at_all(plain: Templates) -> None:
    for requested in (None, ""):
        with pytest.raises(BadRequest, match=r"As of transformers v4\.44, default chat template is no longer allowed"):
            plain.resolve(requested, tools=False)


def test_tool_use_serves_tools_only(make_folder: MakeFolder) -> None:
    named = [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "tools"}]
    templates = templates_of(make_folder(files={"tokenizer_config.json": {"chat_template": named}}))
    assert templates.resolve(None, tools=False).source == "plain"
    assert templates.resolve(None, tools=True).source == "tools"
    assert templates.resolve("tool_use", tools=False).source == "tools"
    assert templates.resolve("{{ 1 }}", tools=True).source == "{{ 1 }}"


def test_several_templates_without_a_default(make_folder: MakeFolder) -> None:
    named = [{"name": "rag", "template": "rag"}]
    templates = templates_of(make_folder(files={"tokenizer_config.json": {"chat_template": named}}))
    assert templates.resolve("rag", tools=False).source == "rag"
    with pytest.raises(BadRequest, match="none is the default"):
        templates.resolve(None, tools=False)


def test_template_files_come_before_the_tokenizer_config(make_folder: MakeFolder) -> None:
    files = {"chat_template.jinja": "main", "additional_chat_templates/rag.jinja": "rag"}
    templates = templates_of(make_folder(files=files))
    assert templates.resolve(None, tools=True).source == "main"
    assert templates.resolve("rag", tools=False).source == "rag"


def test_processor_template_serves_requests_without_tools(make_folder: MakeFolder) -> None:
    files = {"chat_template.json": {"chat_template": "processor"}, "preprocessor_config.json": {"patch_size": 14}}
    templates = templates_of(make_folder(files=files))
    assert templates.resolve(None, tools=False).source == "processor"
    assert templates.resolve(None, tools=True).source.startswith("{% for m in messages %}")


def test_server_template(make_folder: MakeFolder, tmp_path: Path) -> None:
    folder = make_folder()
    own = templates_of(folder).resolve(None, tools=False)
    (tmp_path / "t.jinja").write_text("from a file {{ bos_token }}", encoding="utf-8")
    assert render(templates_of(folder, chat_template=str(tmp_path / "t.jinja")), None) == "from a file <s>"
    assert render(templates_of(folder, chat_template="literal {{ eos_token }}"), None) == "literal </s>"
    same = templates_of(folder, chat_template=own.source).resolve(None, tools=True)
    assert same.render(HELLO, None, None, PROMPT) == "[user]Hello"
    with pytest.raises(ConfigurationError, match="neither a template nor a readable file"):
        templates_of(folder, chat_template="no-such-file")


def test_content_format_can_be_imposed(make_folder: MakeFolder) -> None:
    folder = make_folder()
    assert templates_of(folder).resolve(None, tools=False).content_format == "string"
    imposed = templates_of(folder, chat_template_content_format="openai")
    assert imposed.resolve(None, tools=False).content_format == "openai"
    assert imposed.resolve("{{ messages }}", tools=False).content_format == "openai"


@pytest.mark.parametrize(
    ("source", "kwargs", "text"),
    [
        ("{{ bos_token }}|{{ pad_token }}|{{ unk_token is defined }}", {}, "<s>||False"),
        ("{{ bos_token }}", {"bos_token": "B"}, "B"),
        ("{{ tools }} {{ documents }} {{ add_generation_prompt }}", {}, "None None False"),
        ("{{ add_generation_prompt }}", {"add_generation_prompt": True}, "True"),
        ("{{ tokenize is defined }} {{ continue_final_message is defined }}", {"tokenize": True}, "False False"),
        ("{{ chat_template is defined }} {{ max_length is defined }}", {"max_length": 5}, "False False"),
        ("{{ mine }}", {"mine": {"a": [1, None, True]}, "other": 1}, "{'a': [1, None, True]}"),
        ("{{ messages[0] | tojson }}", {}, '{"role": "user", "content": "Hello"}'),
        ("{{ {'b': '<é>&', 'a': 1} | tojson }}", {}, '{"b": "<é>&", "a": 1}'),
        ("{{ [1, 2] | tojson(indent=2) }}", {}, "[\n  1,\n  2\n]"),
        ("{% for i in [1, 2, 3] %}{% if i == 2 %}{% continue %}{% endif %}{{ i }}{% endfor %}", {}, "13"),
        ("a\n  {% generation %}\nb\n  {% endgeneration %}\nc\n", {}, "a\nb\nc"),
        ("{{ strftime_now('%%') }}", {}, "%"),
        ("{{ dict(a=1) }} {{ namespace(a=2).a }} {{ range(2) | list }}", {}, "{'a': 1} 2 [0, 1]"),
        ("{{ 'a-b'.split('-')[1] }} {{ '%s!' % 'x' }} {{ '{:>3}'.format(1) }}", {}, "b x!   1"),
    ],
)
def test_what_a_request_template_renders(plain: Templates, source: str, kwargs: dict[str, Any], text: str) -> None:
    assert render(plain, source, kwargs) == text


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{{ raise_exception('No dice: é') }}", "^No dice: é$"),
        ("{{ foo.bar }}", "^'foo' is undefined$"),
        ("{{ messages[0].content + [] }}", "can only concatenate str"),
        ("{{ [] + messages[0].content }}", 'can only concatenate list \\(not "str"\\) to list'),
        ("{% for %}", "Expected an expression"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ nothing | tojson }}", "not JSON serializable"),
        ("{{ x | no_such_filter }}", "No filter named 'no_such_filter'"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{% set ns = namespace() %}{% set ns.__x = 1 %}", "underscore"),
        ("{% include 'other' %}", "no loader"),
    ],
)
def test_a_failing_template_speaks_for_itself(plain: Templates, source: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        render(plain, source)


def test_failures_of_the_models_own_template_have_jinja2s_words(make_folder: MakeFolder) -> None:
    source = "{% if messages | length > 1 %}{{ raise_exception('one only') }}{% endif %}{{ messages[0].nope.deeper }}"
    templates = templates_of(make_folder(files={"tokenizer_config.json": {"chat_template": source}}))
    with pytest.raises(BadRequest, match=r"^one only$"):
        render(templates, None, messages=HELLO * 2)
    with pytest.raises(BadRequest, match="'dict object' has no attribute 'nope'"):
        render(templates, None)


def test_messages_cannot_be_replaced(plain: Templates) -> None:
    with pytest.raises(BadRequest, match="messages"):
        render(plain, "{{ messages }}", {"messages": []})


def test_developer_is_mentioned(plain: Templates) -> None:
    assert plain.resolve("{% if m.role == 'developer' %}{% endif %}", tools=False).mentions_developer
    assert plain.resolve('{% if m.role == "developer" %}{% endif %}', tools=False).mentions_developer
    assert not plain.resolve("{# for the developer #}", tools=False).mentions_developer


CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}
LOOP = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
PARTS = "{% for m in messages %}<{{ m.role }}>{% for p in m.content %}{{ p.text }};{% endfor %}</>{% endfor %}"


@pytest.mark.parametrize(
    ("source", "content", "text"),
    [
        (LOOP, "Once upon", "<user>Hello</><assistant>Once upon"),
        (LOOP, "Once upon  ", "<user>Hello</><assistant>Once upon  "),
        (LOOP.replace("m.content", "m.content | trim"), "Once upon  ", "<user>Hello</><assistant>Once upon"),
        (LOOP, "", "<user>Hello</><assistant>"),
        (PARTS, [{"text": "a"}, {"text": "b"}], "<user>hey;</><assistant>a;b"),
        (PARTS, [{"text": "a"}, {"type": "image"}], "<user>hey;</><assistant>a"),
    ],
)
def test_the_last_message_is_continued(plain: Templates, source: str, content: Any, text: str) -> None:
    first = {"role": "user", "content": "Hello" if isinstance(content, str) else [{"text": "hey"}]}
    messages = [first, {"role": "assistant", "content": content}]
    assert render(plain, source, CONTINUE, messages=messages) == text
    assert messages[1]["content"] == content


@pytest.mark.parametrize(
    ("source", "messages", "words"),
    [
        (LOOP, [], "no message"),
        (LOOP, [{"role": "assistant"}], "no content"),
        (PARTS, [{"role": "assistant", "content": [{"type": "image"}]}], "no text"),
        ("{{ messages[0].role }}", HELLO, "does not use the content"),
        ("content of {{ messages[0].role }}", HELLO, "does not appear"),
    ],
)
def test_what_cannot_be_continued(plain: Templates, source: str, messages: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        render(plain, source, CONTINUE, messages=messages)


def test_a_continuation_has_no_generation_prompt(plain: Templates) -> None:
    with pytest.raises(BadRequest, match="not compatible"):
        render(plain, LOOP, {"continue_final_message": True, "add_generation_prompt": True})


@pytest.mark.parametrize(
    ("architecture", "rendered"),
    [
        ("Qwen2AudioForConditionalGeneration", "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n"),
        ("Llama4ForConditionalGeneration", "<|header_start|>user<|header_end|>\n\nHello<|eot|>"),
    ],
)
def test_templates_that_processors_carry_themselves(make_folder: MakeFolder, architecture: str, rendered: str) -> None:
    """They are used where the folder has none for the processor, whatever the tokenizer has."""
    pytest.importorskip("transformers")
    config = {"architectures": [architecture], "model_type": "x", "max_position_embeddings": 512}
    files = {"config.json": config, "preprocessor_config.json": {"feature_size": 128}}
    assert rendered in render(templates_of(make_folder(files=files)), None)
    own = {**files, "chat_template.json": {"chat_template": "own {{ messages[0].content }}"}}
    assert render(templates_of(make_folder("own", files=own)), None) == "own Hello"


def test_a_template_that_escapes_what_it_adds_to_safe_text_is_jinjas(tmp_path: Path, make_folder: MakeFolder) -> None:
    source = (
        "{% for t in tools or [] %}{{ 'Use '|safe + t['function']['description'] + t['function'] | tojson }}"
        "{% endfor %}"
        "{% for m in messages %}{{ m['content'] }}{% endfor %}"
    )
    folder = make_folder(files={"chat_template.jinja": source})
    manifest = json.loads((pack(folder, tmp_path / "out") / "bundle.json").read_text())
    assert manifest["templates"]["named"]["default"]["engine"] == "jinja2"
