"""Our harmony machine reads what OpenAI's library reads, on its real vocabulary."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from renderlayer.bundle import open_model
from renderlayer.parsers import Answer, Parser, ParserNames, Piece, open_parser
from renderlayer.settings import Settings
from tests.harmony_library import harmony_encoding
from tests.parsers.support import asking, streamed

library = pytest.importorskip("openai_harmony")

TEXTS = ("Hm.", " two words", "naïve 客单价 👍", "line\n\nbreak", "to=functions.x", '{"q": "a b", "n": [1, {}]}', "  ")
HEADERS = (
    ("<|channel|>analysis", "reasoning"),
    ("<|channel|>commentary", "content"),
    ("<|channel|>final", "content"),
    ("<|channel|>commentary to=functions.search <|constrain|>json", "search"),
    (" to=functions.get_time<|channel|>commentary <|constrain|>json", "get_time"),
    ("<|channel|>analysis to=python code", "reasoning"),
)


@pytest.fixture(scope="module")
def encoding(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    tokenizer_file = shared / "models/tiny-gptoss/tokenizer.json"
    with harmony_encoding(tokenizer_file, tmp_path_factory.mktemp("vocabulary")) as encoding:
        yield encoding


@pytest.fixture(scope="module")
def parser(shared: Path) -> Parser:
    opened = open_parser(ParserNames("openai"), open_model(Settings(model=str(shared / "models/tiny-gptoss"))))
    assert opened is not None
    return opened


def messages(seed: int) -> list[tuple[str, str, str]]:
    """Some messages: header, what it is, text."""
    source = random.Random(seed)
    return [(*source.choice(HEADERS), source.choice(TEXTS)) for _ in range(source.randint(1, 5))]


def spelled(turn: Sequence[tuple[str, str, str]]) -> str:
    """The turn as the model writes it."""
    ends = ["<|call|>" if kind in ("search", "get_time") else "<|end|>" for _, kind, _ in turn]
    return "<|start|>assistant".join(
        f"{header}<|message|>{text}{end}" for (header, _, text), end in zip(turn, ends, strict=True)
    )


def pieces(token_ids: Sequence[int], encoding: Any) -> list[Piece]:
    """Tokens with the text that each completes."""
    found: list[Piece] = []
    said = ""
    for n, token_id in enumerate(token_ids, 1):
        text = encoding.decode(token_ids[:n])
        whole = "" if text.endswith("\ufffd") else text[len(said) :]
        said += whole
        found.append((token_id, whole))
    return found


def read_by_the_library(token_ids: Sequence[int], encoding: Any) -> Answer:
    """The library's messages, sorted as wire.md 7.6 says; arguments that are no object are content."""
    stream = library.StreamableParser(encoding, role=library.Role.ASSISTANT)
    for token_id in token_ids:
        stream.process(token_id)
    reasoning, content, calls = [], [], []
    for message in stream.messages:
        text = message.content[0].text
        recipient = message.recipient or ""
        if recipient.startswith("functions.") and (text.startswith("{") or text.isspace()):
            calls.append((recipient.removeprefix("functions."), text.strip() or "{}"))
        elif recipient.startswith("functions."):
            content.append(text.lstrip())
        elif message.channel == "analysis":
            reasoning.append(text)
        else:
            content.append(text)
    return Answer("\n".join(reasoning) or None, "\n".join(content) or None, calls)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_messages(seed: int, encoding: Any, parser: Parser) -> None:
    turn = messages(seed)
    token_ids = encoding.encode(spelled(turn), allowed_special="all")

    expected = read_by_the_library(token_ids, encoding)
    if expected.calls and (expected.content or "").isspace():
        expected.content = None
    for chunks in ((len(token_ids),), (1,), (4, 1)):
        events, _ = streamed(parser, asking(), pieces(token_ids, encoding), chunks)
        answer = parser.assemble(events)
        assert (answer.reasoning, answer.content) == (expected.reasoning, expected.content)
        assert [(call.name, call.arguments) for call in answer.calls] == expected.calls


def test_a_message_that_is_cut_off(encoding: Any, parser: Parser) -> None:
    token_ids = encoding.encode("<|channel|>analysis<|message|>Still think", allowed_special="all")

    assert parser.parse(asking(), pieces(token_ids, encoding)) == Answer("Still think", None, [])


@pytest.mark.parametrize("written", ["", "{", '{"q":', "{}", '{"q": "x'])
def test_a_call_that_is_cut_off_before_its_arguments_is_text(written: str, encoding: Any, parser: Parser) -> None:
    header = "<|channel|>commentary to=functions.search <|constrain|>json<|message|>"
    token_ids = encoding.encode(header + written, allowed_special="all")

    for chunks in ((len(token_ids),), (1,)):
        events, _ = streamed(parser, asking(), pieces(token_ids, encoding), chunks)
        answer = parser.assemble(events)
        told = [call.arguments for call in answer.calls] or [answer.content or ""]
        assert told == [written if written != '{"q": "x' else '{"q": "x"}']


@pytest.mark.parametrize("text", ["Hello there", '{"q": 1}', "to be or not", "Hello<|return|>", "t"])
def test_words_outside_any_message_are_content(text: str, encoding: Any, parser: Parser) -> None:
    token_ids = encoding.encode(text, allowed_special="all")

    assert parser.parse(asking(), pieces(token_ids, encoding)) == Answer(None, text, [])


def test_a_header_that_never_ends_is_no_content(encoding: Any, parser: Parser) -> None:
    token_ids = encoding.encode("<|channel|>commentary to=functions.sea", allowed_special="all")

    assert parser.parse(asking(), pieces(token_ids, encoding)) == Answer(None, None, [])
