"""Our harmony equals OpenAI's library, on its real vocabulary."""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_model
from renderlayer.bundle.decoding import byte_level_bytes
from renderlayer.render.chat import render_chat
from renderlayer.render.renderers.typescript import typescript
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import parse
from tests.render.renderers.conftest import DATE

library = pytest.importorskip("openai_harmony")

TEXTS = (
    "",
    "Hello",
    "<|end|><|start|>system<|message|>",
    "naïve 客单价 👩‍👩‍👧‍👦\r\n\n  x",
    "1234567 don't WE'LL",
    "<|reserved_200013|>\u0000",
)
NAMES = ("p", "q", "Z", "é", "a b")


@pytest.fixture(scope="module")
def oss(shared: Path) -> ServedModel:
    settings = Settings(model=str(shared / "models/tiny-gptoss"), system_start_date=DATE)
    return ServedModel(open_model(settings), settings)


@pytest.fixture(scope="module")
def encoding(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The library with its vocabulary, rebuilt from the tokenizer file: it would download it otherwise."""
    folder = tmp_path_factory.mktemp("vocabulary")
    vocabulary = json.loads((shared / "models/tiny-gptoss/tokenizer.json").read_bytes())["model"]["vocab"]
    rows = sorted((token_id, byte_level_bytes(piece)) for piece, token_id in vocabulary.items())
    (folder / "o200k_base.tiktoken").write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(data), token_id) for token_id, data in rows)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TIKTOKEN_ENCODINGS_BASE", str(folder))
        yield library.load_harmony_encoding(library.HarmonyEncodingName.HARMONY_GPT_OSS)


def text_message(role: str, text: str) -> Any:
    return library.Message.from_role_and_content(role, text)


def system(effort: str) -> Any:
    content = library.SystemContent.new().with_conversation_start_date(DATE)
    return text_message("system", content.with_reasoning_effort(library.ReasoningEffort[effort.upper()]))


def developer(instructions: str | None, tools: list[dict[str, Any]]) -> Any:
    content = library.DeveloperContent.new()
    if instructions is not None:
        content = content.with_instructions(instructions)
    if tools:
        functions = [tool["function"] for tool in tools]
        content = content.with_function_tools(
            [library.ToolDescription.new(row["name"], row["description"], row.get("parameters")) for row in functions]
        )
    return text_message("developer", content)


def turn(source: random.Random, number: int) -> tuple[list[dict[str, Any]], list[Any]]:
    """A question and its answer with or without a call, as chat messages and as the library's messages."""
    question, thought, spoken, result = (source.choice(TEXTS) for _ in range(4))
    chat: list[dict[str, Any]] = [{"role": "user", "content": question}]
    theirs = [text_message("user", question)]
    if source.random() < 0.6:
        arguments = json.dumps({"x": source.choice(TEXTS)}, ensure_ascii=source.random() < 0.5)
        call = {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": arguments}}
        chat.append({"role": "assistant", "content": spoken, "reasoning": thought, "tool_calls": [call]})
        chat.append({"role": "tool", "tool_call_id": f"c{number}", "content": result})
        if spoken:
            theirs.append(text_message("assistant", spoken).with_channel("commentary"))
        if thought:
            theirs.append(text_message("assistant", thought).with_channel("analysis"))
        to = text_message("assistant", arguments).with_channel("commentary").with_recipient("functions.f")
        theirs.append(to.with_content_type("json"))
        # The reference's library writes a tool's recipient behind the channel, where this one writes the content type.
        author = library.Author.new(library.Role.TOOL, "functions.f")
        answer = library.Message.from_author_and_content(author, result).with_channel("commentary")
        theirs.append(answer.with_content_type("to=assistant"))
    if source.random() < 0.4:
        final = source.choice(TEXTS[1:])
        chat.append({"role": "assistant", "content": final})
        theirs.append(text_message("assistant", final).with_channel("final"))
    return chat, theirs


def without_old_analysis(messages: list[Any]) -> list[Any]:
    """The library drops it only when a final answer ends the conversation."""
    last = max((index for index, message in enumerate(messages) if message.channel == "final"), default=0)
    return [message for index, message in enumerate(messages) if index >= last or message.channel != "analysis"]


def schema(source: random.Random, depth: int) -> Any:
    """A random JSON schema, odd in every way that the conversion looks at."""
    out: dict[str, Any] = {}
    kinds = ["object", "object", "array", "string", "number", "integer", "boolean", "null", "weird", 1, None]
    out["type"] = source.choice([*kinds, ["string", "null"], ["integer", 3], []])
    options: dict[str, list[Any]] = {
        "description": [*TEXTS, 1],
        "title": [*TEXTS, None],
        "default": [*TEXTS, 1, -1, 0.5, 1e16, 1e-5, 1e-7, 10**25, True, None, [1, "x", None], {"k": 1, "n": None}],
        "enum": [[], ["a", 'b"'], [1, 2], ["x", None], "a"],
        "nullable": [True, False, "x"],
        "examples": [[], ["e1", 'e"2'], [1], "x"],
        "required": [["p"], ["q", "Z", 1], "p"],
    }
    for key, values in options.items():
        if source.random() < 0.25:
            out[key] = source.choice(values)
    if depth:
        if source.random() < 0.7:
            out["properties"] = {name: schema(source, depth - 1) for name in source.sample(NAMES, source.randint(0, 3))}
        if source.random() < 0.4:
            out["items"] = schema(source, depth - 1)
        if source.random() < 0.2:
            out["oneOf"] = [schema(source, depth - 1) for _ in range(source.randint(0, 3))]
    return out if source.random() > 0.05 else source.choice([True, None, "x", []])


def test_conversations(oss: ServedModel, encoding: Any) -> None:
    source = random.Random(3)
    for _ in range(150):
        turns = [turn(source, number) for number in range(source.randint(0, 4))]
        effort = source.choice(["low", "medium", "high"])
        instructions = source.choice([None, *TEXTS[1:]])
        described = source.choice(TEXTS)
        tools = [{"type": "function", "function": {"name": "f", "description": described}}] * source.randint(0, 2)
        chat = [message for ours, _ in turns for message in ours]
        head = [] if instructions is None else [{"role": "system", "content": instructions}]
        body = {"messages": head + chat, "reasoning_effort": effort, **({"tools": tools} if tools else {})}
        prefix = [system(effort)] + ([developer(instructions, tools)] if tools or instructions else [])
        theirs = prefix + without_old_analysis([message for _, messages in turns for message in messages])
        expected = encoding.render_conversation_for_completion(
            library.Conversation.from_messages(theirs), library.Role.ASSISTANT
        )
        tool_choice = {"tool_choice": "none"} if tools else {}
        rendered = render_chat(parse(ChatCompletionRequest, body | tool_choice), oss)
        assert rendered["token_ids"] == expected, body


def test_schemas(encoding: Any) -> None:
    source = random.Random(5)
    for _ in range(1500):
        parameters = schema(source, 3)
        if not isinstance(parameters, dict):
            continue
        tool = {"function": {"name": "f", "description": "", "parameters": parameters}}
        text = encoding.decode(encoding.render(developer(None, [tool])))
        expected = text.partition("type f = (_: ")[2].rpartition(") => any;")[0]
        # this release of the library leaves the plus out of exponents; the reference's does not
        assert re.sub(r"(\d)e\+(\d)", r"\1e\2", typescript(parameters)) == expected, parameters
