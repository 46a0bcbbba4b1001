"""How a request's answers are read: which parser, if any, and what it is told of the request (wire.md 6.2, 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from renderlayer.derender.core.options import NO_REQUEST, Options, chat_options
from renderlayer.derender.core.output import Output
from renderlayer.errors import BadRequest
from renderlayer.parsers.core.events import Answer, Conversation, Event, Piece, Reasoning, State
from renderlayer.render.chat import chat_kwargs
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest

if TYPE_CHECKING:
    from renderlayer.parsers import Parser


def configured(server: ServedModel) -> bool:
    """Whether a tool or a reasoning parser reads the answers."""
    return any(server.parsers)


@dataclass(frozen=True)
class ParseContext:
    """The parser and the request's part in it; without a parser the text is the content."""

    options: Options
    parser: Parser | None = None
    conversation: Conversation | None = None

    def answer(self, output: Output, index: int) -> Answer:
        """Read a whole choice. One without text has the empty content where no reasoning is looked for, else none."""
        if self.parser is None or (not output.text and self.parser.names.reasoning is None):
            return Answer(reasoning=None, content=output.text, calls=[])
        return self.parser.parse(self._of_choice(index), output.pieces)

    def begin(self, index: int) -> ParserSession | None:
        """Begin to read a choice in parts; None without a parser."""
        if self.parser is None:
            return None
        return ParserSession(self.parser, self.parser.start(self._of_choice(index)))

    def _of_choice(self, index: int) -> Conversation:
        assert self.conversation is not None
        return replace(self.conversation, seed=f"{self.conversation.seed}:{index}")


def reading_of(
    request: ChatCompletionRequest | None, prompt: Sequence[int] | None, answer_id: str, server: ServedModel
) -> ParseContext:
    """How the answers to a chat request are read.

    Args:
        prompt: the prompt's token ids, if known.
        answer_id: names the answer; tool-call ids derive from it and from the prompt, since clients reuse their ids.

    Raises:
        BadRequest: there is a parser, but no request that tells how to use it.
    """
    parser = server.parser
    if parser is None:
        return ParseContext(NO_REQUEST if request is None else chat_options(request))
    if request is None:
        raise BadRequest(
            "chat_request is required when a tool or reasoning parser is configured because plain detokenization "
            "would leak raw parser markup into content."
        )
    calls = [message.get("tool_calls") or () for message in request.messages if message["role"] == "assistant"]
    conversation = Conversation(
        tools=request.tool_dicts(),
        tool_choice=request.choice(),
        chat_template_kwargs=chat_kwargs(request, server),
        prompt_token_ids=prompt,
        history_tool_calls=sum(map(len, calls)),
        seed=_seed(answer_id, prompt),
    )
    options = chat_options(request, parsed=True, keep_calls=parser.keeps_calls(conversation))
    return ParseContext(options, parser, conversation)


def _seed(answer_id: str, prompt: Sequence[int] | None) -> str:
    """What tool-call ids derive from: they repeat when a call is repeated, on any server, and differ between prompts.

    Python hashes a tuple of integers alike in every process.
    """
    named = f"{answer_id}:{hash(tuple(prompt or ()))}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(named, digest_size=6).hexdigest()


def check_prompt_known(reading: ParseContext, prompt: Sequence[int] | None) -> None:
    """Refuse a stream that is parsed without its prompt."""
    if reading.parser is not None and prompt is None:
        raise BadRequest(
            "prompt_token_ids is required when a tool or reasoning parser is configured. Without it nobody can tell "
            "whether the prompt left reasoning open (e.g. a chat template that pre-opens <think>), and reasoning "
            "would be taken for content."
        )


class ParserSession:
    """A parser in the middle of an answer.

    Attributes:
        state: the parser's state.
        begun: whether it has read anything.
    """

    def __init__(self, parser: Parser, state: State, begun: bool = False) -> None:
        self._parser = parser
        self.state = state
        self.begun = begun

    def needed(self, before: State, pieces: Sequence[Piece], length: int) -> int:
        """How many of the pieces it takes, read from the state `before` on, to say so many code points of reasoning."""
        state, used = before, 0
        while len(pieces) > 1:
            half = len(pieces) // 2
            events, after = self._parser.feed(state, pieces[:half])
            said = sum(len(event.text) for event in events if isinstance(event, Reasoning))
            if said >= length:
                pieces = pieces[:half]
            else:
                state, pieces, length, used = after, pieces[half:], length - said, used + half
        return used + len(pieces)

    def step(self, output: Output, finished: bool) -> list[Event]:
        """What the tokens add, and with the last of them what was held back."""
        events: list[Event] = []
        if output.pieces:
            self.begun = True
            events, self.state = self._parser.feed(self.state, output.pieces)
        if finished and self.begun:
            events = [*events, *self._parser.finish(self.state)]
        return events
