"""What a request decides about its answer, apart from the request: small enough to travel in the stream state."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.common.base import Body
from renderlayer.wire.common.sampling import SamplingFields
from renderlayer.wire.completion import CompletionRequest


class Options(Body):
    """The decisions, with the defaults of a call that brings no request.

    Attributes:
        skip_special: leave special tokens out of the text (a parser needs them, whatever the request says).
        candidates: how many candidates a position keeps; None: all.
        keep_calls: tool calls reach the message (wire.md 6.5).
        forced: tool_choice is required or names a function: content is "" rather than null.
        named: tool_choice names a function: finish_reason stays.
        custom: names of custom tools, whose calls are told as such.
    """

    model_config = ConfigDict(frozen=True)

    skip_special: bool = True
    ignore_eos: bool = False
    include_stop: bool = False
    min_tokens: int = 0
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    candidates: int | None = None
    return_token_ids: bool = False
    include_reasoning: bool = True
    keep_calls: bool = False
    forced: bool = False
    named: bool = False
    parallel: bool = True
    custom: tuple[str, ...] = ()

    @property
    def shows_token_ids(self) -> bool:
        """Whether the answer carries its token ids: asked for, and not telling hidden reasoning."""
        return self.return_token_ids and self.include_reasoning

    def dumped(self) -> dict[str, Any]:
        """The decisions that differ from the default, as JSON."""
        default = vars(NO_REQUEST)
        return {name: value for name, value in vars(self).items() if value != default[name]}


NO_REQUEST = Options()


def completion_options(request: CompletionRequest) -> Options:
    """The decisions of a completion request."""
    everything = request.logprobs is None or request.logprobs == -1 or request.logprob_token_ids
    return Options(
        **_shared(request),
        skip_special=request.skip_special_tokens is not False,
        candidates=None if everything else (request.logprobs or 0) + 1,
    )


def chat_options(request: ChatCompletionRequest, parsed: bool = False, keep_calls: bool = False) -> Options:
    """The decisions of a chat request.

    Args:
        parsed: a tool or reasoning parser is configured.
        keep_calls: what that parser says of the request's tool calls.
    """
    everything = not request.logprobs or request.top_logprobs == -1 or request.logprob_token_ids
    return Options(
        **_shared(request),
        skip_special=not parsed and request.skip_special_tokens is not False,
        candidates=None if everything else request.top_logprobs or 0,
        include_reasoning=request.include_reasoning or not parsed,
        keep_calls=keep_calls,
        forced=parsed and request.tool_choice not in (None, "none", "auto"),
        named=parsed and request.named_tool is not None,
        parallel=not parsed or request.parallel_tool_calls is not False,
        custom=request.custom_tools if parsed else (),
    )


def _shared(request: SamplingFields) -> dict[str, Any]:
    return {
        "ignore_eos": request.ignore_eos,
        "include_stop": request.include_stop_str_in_output,
        "min_tokens": request.min_tokens,
        "stop": tuple(request.stop_list()),
        "stop_token_ids": tuple(request.stop_token_ids or ()),
        "return_token_ids": bool(request.return_token_ids),
    }
