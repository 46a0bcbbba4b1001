"""The digest under which a prompt and its output are kept for the next turn (wire.md 2.10)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from renderlayer.errors import NotFound
from renderlayer.render.continuing.prefixes import keep_prefix, prefix_of
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.served_model import ServedModel
from renderlayer.wire.chat import ChatCompletionRequest
from renderlayer.wire.derender import PromptFields, SampledIds

B = TypeVar("B", bound=PromptFields)


def with_prompt(body: B, server: ServedModel) -> B:
    """The body with the prompt for which its `prefix` stands.

    Raises:
        NotFound: nothing is kept under it.
        Unavailable: the object store failed.
    """
    if body.prefix is None or body.prompt_token_ids is not None:
        return body
    try:
        prompt, output = prefix_of(body.prefix, server)
    except NotExtended as refused:
        raise NotFound(f"{refused}: send prompt_token_ids.", "prefix") from refused
    body.prompt_token_ids = (prompt + output).tolist()
    return body


class SampledOutput:
    """What is sampled for a prompt, until all of it is there.

    Args:
        prompt: its ids, where they are at hand.
        prefix: the digest that stands for the prompt, where there is one.
        output: what has been sampled already.
    """

    def __init__(self, prompt: Sequence[int] | None, prefix: str | None, output: Sequence[int] = ()) -> None:
        self._prompt = prompt
        self._prefix = prefix
        self._output = list(output)

    def add(self, token_ids: Sequence[int] | None) -> None:
        self._output += token_ids or ()

    def digest(self, server: ServedModel) -> str | None:
        """The digest of both, which are kept; None where the prompt is not known.

        Raises:
            Unavailable: the object store failed.
        """
        prompt = self._prompt
        if prompt is None and self._prefix is not None:
            try:
                given, sampled = prefix_of(self._prefix, server)
            except NotExtended:
                return None
            prompt = given + sampled
        return keep_prefix(prompt, self._output, server, self._prefix) if prompt else None

    def memory(self, server: ServedModel) -> tuple[str, list[int]] | None:
        """What another call needs to go on: the prompt's digest, and the output.

        Raises:
            Unavailable: the object store failed.
        """
        if self._prefix is None and self._prompt:
            self._prefix = keep_prefix(self._prompt, (), server)
        return None if self._prefix is None else (self._prefix, self._output)


def sampled_output(
    request: ChatCompletionRequest | None,
    prompt: Sequence[int] | None,
    prefix: str | None,
    resumed: SampledIds | None = None,
) -> SampledOutput | None:
    """For a request that wants the digest.

    Args:
        request: None where a call before brought it.
        resumed: what `memory` gave then.
    """
    if resumed is not None:
        return SampledOutput(None, *resumed)
    return SampledOutput(prompt, prefix) if request is not None and request.return_prefix else None
