"""What `beam` and `hf` ask of a request: whole answers by the response template (wire.md 2.7)."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from renderlayer.constraints.adjust import Adjustment, adjust
from renderlayer.constraints.structural_tags.by_template import check_spelled
from renderlayer.constraints.structural_tags.params import params
from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.parsers.response_template.template import Beginning, read_template
from renderlayer.render.chat import render_chat
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.models import SPECIAL_TOKENS, make_model_folder, open_server
from tests.parsers.support import TOOLS_GIVEN, asking, opened
from tests.parsers.tag_reader import accepts
from tests.parsers.templates import TAGS, TEMPLATES
from tests.parsers.tools import NAMED, Names, tag_of, tool

BEAM = Names("beam", "beam")
NAMES = sorted(TEMPLATES)
BOOKING = '{"room": "7", "nights": 2}'
# template -> thinking, what is said, a call of the tool `book`, written as the tag asks for it
WRITTEN: dict[str, tuple[str, str, str]] = {
    "objects": ("<plan>Hm.</plan>", "Yes.", f'<do>{{"name": "book", "arguments": {BOOKING}}}</do>'),
    "notation": ("<|room>thought\nHm.<room|>", "Yes.", "<|do>call:book{room:<|'|>7<|'|>,nights:2}<do|>"),
    "tags": (
        "<|thought|>\nHm.<|end|>",
        "<|say|>Yes.<|end|>",
        '<|do|><call name="book"><arg name="room">7</arg><arg name="nights">2</arg></call><|end|>',
    ),
    "lines": ("", "Yes.", "```call book\nroom=7\nnights=2\n```"),
    "listed": (
        "<|muse|>Hm.<|/muse|>",
        "<|text|>Yes.<|/text|>",
        f'<|acts|>[{{"tool": "book", "input": {BOOKING}}}]<|/acts|>',
    ),
    "python": ("<think>Hm.</think>", "Yes.", "<|calls>[book(room='7', nights=2)]<calls|>"),
}


def beginning(name: str, fresh: bool = True, field: str = "") -> Beginning:
    return Beginning(read_template(TEMPLATES[name]), fresh, field)


def asked(name: str, choice: Any = "auto", **more: Any) -> Any:
    """The tag for a request with a tool."""
    return tag_of(adjust(BEAM, [tool()], choice, beginning=beginning(name), **more))


@pytest.mark.parametrize("name", NAMES)
def test_what_a_tag_lets_through_is_read(name: str) -> None:
    thinking, said, call = WRITTEN[name]
    auto, required = asked(name), asked(name, "required")

    assert accepts(auto, thinking + said)
    assert accepts(auto, said + call)
    assert accepts(auto, thinking + said + call)
    assert accepts(required, thinking + call)
    assert not accepts(required, thinking + said)
    answer = opened("beam", "beam" if thinking else None, template=TEMPLATES[name])[0].parse(
        asking(tools=[tool()]), [(0, thinking + said + call)]
    )
    assert (answer.reasoning, answer.content) == ("Hm." if thinking else None, "Yes.")
    assert [(made.name, json.loads(made.arguments)) for made in answer.calls] == [("book", json.loads(BOOKING))]


@pytest.mark.parametrize("name", ["tags", "listed"])
def test_only_what_is_offered_may_be_called(name: str) -> None:
    thinking, _, call = WRITTEN[name]
    named = tag_of(adjust(BEAM, [tool(), tool("other")], NAMED, beginning=beginning(name)))
    single = tag_of(adjust(BEAM, [tool()], "required", parallel_tool_calls=False, beginning=beginning(name)))

    assert accepts(named, thinking + call)
    assert not accepts(named, call.replace("book", "other"))
    assert not accepts(asked(name), call.replace("book", "other"))
    assert not accepts(single, call + call)
    assert not accepts(named, call + call)


@pytest.mark.parametrize("name", ["objects", "tags"])
def test_several_calls_may_be_made(name: str) -> None:
    template = json.loads(json.dumps(TEMPLATES[name]))
    template["fields"]["content"] = TAGS["fields"]["content"]
    change = adjust(BEAM, [tool()], "required", beginning=Beginning(read_template(template), fresh=True))

    assert accepts(tag_of(change), WRITTEN[name][2] * 2)


def test_the_prompt_decides_what_is_still_to_come() -> None:
    thinking, said, call = WRITTEN["tags"]
    behind = adjust(BEAM, [tool()], "auto", beginning=beginning("tags", fresh=False))
    begun = adjust(BEAM, [tool()], "auto", beginning=beginning("tags", fresh=False, field="content"))
    calling = adjust(BEAM, [tool()], "auto", beginning=beginning("tags", fresh=False, field="tool_calls"))

    assert adjust(BEAM, [tool()], "auto", beginning=beginning("tags")).reasoning_ended
    assert not behind.reasoning_ended
    assert accepts(tag_of(behind), said + call)
    assert not accepts(tag_of(behind), thinking + said)
    assert accepts(tag_of(begun), said.removeprefix("<|say|>") + call)
    assert calling == Adjustment(None, False)


def test_a_constraint_of_the_client_is_that_of_the_content() -> None:
    wish = params(json={"type": "object"})
    thinking, said, call = WRITTEN["tags"]
    plain = tag_of(adjust(BEAM, None, "none", structured_outputs=wish, beginning=beginning("tags")))
    tools = tag_of(adjust(BEAM, [tool()], "auto", structured_outputs=wish, beginning=beginning("tags")))

    for content in (plain, tools):
        assert accepts(content, thinking + "<|say|>{}<|end|>")
        assert not accepts(content, said)
    assert accepts(tools, call)
    assert not accepts(plain, call)


@pytest.mark.parametrize(
    ("tools", "choice", "more", "constrained"),
    [
        (None, "none", {}, False),
        ([tool()], "none", {}, False),
        ([tool()], "auto", {}, False),
        ([tool()], None, {}, False),
        ([tool(strict=True)], "auto", {}, True),
        ([tool()], "auto", {"parallel_tool_calls": False}, True),
        ([tool()], "auto", {"strict_level": "function"}, True),
        ([tool()], "required", {}, True),
        (None, "none", {"structured_outputs": params(regex="a")}, True),
    ],
)
def test_constraints_may_be_for_demands_only(tools: Any, choice: Any, more: dict[str, Any], constrained: bool) -> None:
    change = adjust(BEAM, tools, choice, beginning=beginning("tags"), always=False, **more)

    assert (change.structured_outputs is not None) is constrained
    assert change.skip_special_tokens is False
    assert adjust(BEAM, tools, choice, beginning=beginning("tags"), **more).structured_outputs is not None


def test_hf_constrains_nothing_and_refuses_what_would_need_it() -> None:
    assert adjust(Names("hf", "hf"), [tool()], "auto") == Adjustment(None, False)
    for tools, choice, parallel, param in (
        ([tool()], "required", True, "tool_choice"),
        ([tool()], NAMED, True, "tool_choice"),
        ([tool(strict=True)], "auto", True, "tools"),
        ([tool()], "auto", False, "parallel_tool_calls"),
    ):
        with pytest.raises(BadRequest, match="cannot guarantee") as caught:
            adjust(Names("hf", "hf"), tools, choice, parallel_tool_calls=parallel)
        assert caught.value.param == param


@pytest.mark.parametrize("name", ["notation", "tags", "lines"])
def test_the_front_door_holds_hf_s_calls(name: str) -> None:
    held: dict[str, Any] = {"beginning": beginning(name), "always": False, "hold_demanded": True}
    change = adjust(Names("hf", "hf"), [tool()], "required", **held)
    assert accepts(tag_of(change), WRITTEN[name][0] + WRITTEN[name][2])
    assert not accepts(tag_of(change), WRITTEN[name][2].replace("room", "rooms"))
    assert adjust(Names("hf", "hf"), [tool()], "auto", **held) == Adjustment(None, False)


def test_a_template_that_cannot_be_written_holds_nothing() -> None:
    template = json.loads(json.dumps(TAGS))
    template["fields"]["content"]["open_pattern"] = r"<\|say\|>\d"
    with pytest.raises(BadRequest, match="no spelling") as caught:
        unspelled = Beginning(read_template(template), fresh=True)
        adjust(Names("hf", "hf"), [tool()], "required", beginning=unspelled, always=False, hold_demanded=True)
    assert caught.value.param == "tools"


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_compiles_every_tag(name: str) -> None:
    xgrammar = pytest.importorskip("xgrammar")
    letters = [chr(code) for code in range(32, 127)]
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo([*letters, "\n", "</s>"], stop_token_ids=[96]))
    thinking, said, call = WRITTEN[name]
    for choice in ("auto", "required"):
        change = adjust(BEAM, [tool(strict=True), *TOOLS_GIVEN], choice, beginning=beginning(name))
        assert change.structured_outputs
        matcher = xgrammar.GrammarMatcher(
            compiler.compile_structural_tag(change.structured_outputs["structural_tag"]), override_stop_tokens=[96]
        )
        assert matcher.accept_string(thinking + (said if choice == "auto" else "") + call)
        assert matcher.accept_token(96)


@pytest.mark.parametrize(
    ("field", "changes", "message"),
    [
        ("content", {"open_pattern": r"<\|say\|>\d"}, "no spelling of the delimiter"),
        ("thinking", {"close": None}, "field 'thinking' has no end that could be asked for"),
        ("tool_calls", {"close_pattern": r"(?=<\|end)"}, "field 'tool_calls' has no end that could be asked for"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_for_beam_only(field: str, changes: dict[str, Any], message: str) -> None:
    template = json.loads(json.dumps(TAGS))
    template["fields"][field].update(changes)

    assert opened("hf", "hf", template=template)
    with pytest.raises(ConfigurationError, match=message):
        check_spelled(read_template(template))


# --- at the server -----------------------------------------------------------------------------------------------

CHAT = """\
{% for message in messages %}<|{{ message.role }}|>{{ message.content }}<|end|>
{% endfor %}<|assistant|>
{% if enable_thinking is defined and not enable_thinking %}<|thought|><|end|>{% endif %}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    markers = ("<|assistant|>", "<|thought|>", "<|say|>", "<|do|>", "<|end|>", "<|eot|>")
    made = make_model_folder(
        tmp_path_factory.mktemp("models") / "beam", template=CHAT, special_tokens=(*SPECIAL_TOKENS, *markers)
    )
    (made / "response_template.json").write_text(json.dumps(TAGS), encoding="utf-8")
    return made


def served(folder: Path, name: str = "beam", **settings: Any) -> ServedModel:
    given = {"tool_call_parser": name, "reasoning_parser": name, "enable_auto_tool_choice": True, **settings}
    return open_server(folder, Settings(**given))


def rendered(server: ServedModel, **body: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "Hi"}]
    return render_chat(parse(ChatCompletionRequest, {"messages": messages, **body}), server)


def test_beam_constrains_every_request(folder: Path) -> None:
    plain = rendered(served(folder))
    silent = rendered(served(folder), chat_template_kwargs={"enable_thinking": False})

    assert plain["reasoning_ended"] is True
    assert plain["sampling_params"]["skip_special_tokens"] is False
    for answer, thinks in ((plain, True), (silent, False)):
        found = json.loads(answer["sampling_params"]["structured_outputs"]["structural_tag"])["format"]
        assert accepts(found, "<|say|>Yes.<|end|>")
        assert accepts(found, "<|thought|>Hm.<|end|><|say|>Yes.<|end|>") is thinks
    assert silent["reasoning_ended"] is True


def test_hf_and_a_beam_for_demands_only_leave_requests_alone(folder: Path) -> None:
    for server in (served(folder, "hf"), served(folder, beam_always_constrain_output=False)):
        answer = rendered(server)
        assert "structured_outputs" not in answer["sampling_params"]
        assert answer["sampling_params"]["skip_special_tokens"] is False
        assert answer["reasoning_ended"] is False


def test_the_start_tells_what_cannot_be_asked_for(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    spoiled = shutil.copytree(folder, tmp_path / "spoiled")
    template = json.loads(json.dumps(TAGS))
    template["fields"]["thinking"]["close"] = None
    (spoiled / "response_template.json").write_text(json.dumps(template), encoding="utf-8")

    def opened_with(name: str) -> ServedModel:
        given = {"tool_call_parser": name, "reasoning_parser": name, "enable_auto_tool_choice": True}
        return ServedModel.open(Settings(model=str(spoiled), **given))

    assert opened_with("hf")
    with pytest.raises(ConfigurationError, match="field 'thinking' has no end"):
        opened_with("beam")


def test_the_start_tells_what_cannot_be_served(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    bare = make_model_folder(tmp_path / "bare")

    with pytest.raises(ConfigurationError, match="--reasoning-parser hf and --tool-call-parser hermes cannot be"):
        ServedModel.open(
            Settings(model=str(folder), reasoning_parser="hf", tool_call_parser="hermes", enable_auto_tool_choice=True)
        )
    with pytest.raises(ConfigurationError, match="requires `response_template` metadata in the tokenizer config"):
        ServedModel.open(Settings(model=str(bare), reasoning_parser="beam"))
