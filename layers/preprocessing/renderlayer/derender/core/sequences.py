"""One output sequence of a stream: each step turns what an event brought into an OpenAI choice (wire.md 6.6 to 6.8)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from renderlayer.derender.core.logprobs import TokenTexts, chat_logprobs, completion_logprobs, context_after
from renderlayer.derender.core.message import CallEncoder, delta, finish_reason
from renderlayer.derender.core.options import Options
from renderlayer.derender.core.output import Output, OutputDecoder
from renderlayer.derender.core.parser_session import ParserSession
from renderlayer.parsers.core.events import Content, Event
from renderlayer.wire.derender import GenerateChunkChoice

if TYPE_CHECKING:
    from renderlayer.derender.core.prefix import SampledOutput
    from renderlayer.wire.answers import ChatChunkChoice, ChatLogprobs, CompletionChoice


@dataclass
class CompletionSequence:
    """A streamed text.

    Attributes:
        context: the last sampled ids, which later logprobs may need.
        text_offset: code points that the logprobs have told so far.
        total: tokens of the prompt and of the output so far.
    """

    options: Options
    decoder: OutputDecoder
    tokens: TokenTexts
    context: list[int] = field(default_factory=list)
    text_offset: int = 0
    total: int = 0

    def step(self, choice: GenerateChunkChoice, prompt_token_ids: list[int] | None) -> CompletionChoice:
        """The choice of a text completion chunk."""
        options = self.options
        output = self.decoder.step(choice)
        logprobs = completion_logprobs(choice.logprobs, self.tokens, self.context, options.candidates, self.text_offset)
        self.text_offset += len(output.text) if logprobs is None else sum(map(len, logprobs["tokens"]))
        self.context = context_after(self.context, choice.token_ids or ())
        self.total += len(choice.token_ids or ())
        return {
            "index": choice.index,
            "text": output.text,
            "logprobs": logprobs,
            "finish_reason": choice.finish_reason,
            "stop_reason": output.stop_reason,
            "prompt_token_ids": prompt_token_ids if options.return_token_ids else None,
            "token_ids": choice.token_ids if options.return_token_ids else None,
            "weight_versions": None,
        }


@dataclass
class ChatSequence:
    """A streamed message.

    Attributes:
        parsing: reads reasoning and tool calls out of the text; None where no parser is configured.
        total: tokens of the prompt and of the output so far.
        role_sent: whether a delta has told the role.
        called: whether a tool call has been told.
        context: the last sampled ids, which later logprobs may need.
        calls: tells the calls.
        sampled: all output, where its digest is wanted.
    """

    options: Options
    decoder: OutputDecoder
    tokens: TokenTexts
    parsing: ParserSession | None = None
    total: int = 0
    role_sent: bool = False
    called: bool = False
    context: list[int] = field(default_factory=list)
    calls: CallEncoder = field(default_factory=CallEncoder)
    sampled: SampledOutput | None = None

    def step(self, choice: GenerateChunkChoice) -> ChatChunkChoice:
        """The choice of a chat completion chunk."""
        options = self.options
        output = self.decoder.step(choice)
        finished = choice.finish_reason is not None
        added = delta(self._events(output, finished), options, self.calls, finished)
        if not self.role_sent:
            added["role"] = "assistant"
        self.role_sent = True
        self.called |= "tool_calls" in added
        logprobs: ChatLogprobs | None = None
        if options.include_reasoning:
            logprobs = chat_logprobs(choice.logprobs, self.tokens, self.context, options.candidates)
        self.context = context_after(self.context, choice.token_ids or ())
        self.total += len(choice.token_ids or ())
        if self.sampled is not None:
            self.sampled.add(choice.token_ids)
        return {
            "index": choice.index,
            "delta": added,
            "logprobs": logprobs,
            "finish_reason": finish_reason(choice.finish_reason, self.called, options),
            "stop_reason": output.stop_reason,
            "token_ids": choice.token_ids if options.shows_token_ids else None,
            "weight_versions": None,
        }

    def _events(self, output: Output, finished: bool) -> Sequence[Event]:
        if self.parsing is None:
            return [Content(output.text)]
        return self.parsing.step(output, finished)
