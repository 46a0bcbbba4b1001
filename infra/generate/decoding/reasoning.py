"""Reasoning before the answer: whether it is open, where it ends, how long it may be (wire.md 2.2, 5.5)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from infra.generate.decoding.sampling import SamplingParams
from renderlayer.errors import BadRequest
from renderlayer.parsers.reasoning.formats import REASONING
from renderlayer.served_model import ServedModel
from renderlayer.wire.generate import GenerateRequest


class Reasoning:
    """What the configured reasoning parser (`--reasoning-parser`) says about a request.

    Args:
        server: the model and its settings.
    """

    def __init__(self, server: ServedModel) -> None:
        self._server = server

    @cached_property
    def ends(self) -> frozenset[int]:
        """Token ids that close the reasoning; empty without a parser, or where the marker is no token."""
        form = REASONING.get(self._server.parsers.reasoning)
        closes: tuple[str, ...] = getattr(form, "closes", ())  # formats without markers have none
        added = self._server.model.vocabulary.added
        return frozenset(added[marker] for marker in closes if marker in added)

    def ended(self, request: GenerateRequest) -> bool:
        """Whether the answer begins outside the reasoning; what the request leaves open the parser says."""
        if request.reasoning_ended is not None:
            return request.reasoning_ended
        given = request.reasoning_parser_kwargs
        kwargs = (given.chat_template_kwargs if given else None) or {}
        parser = self._server.parser
        return parser is None or parser.reasoning_ended(request.token_ids, kwargs) is not False

    def budget(self, request: GenerateRequest, params: SamplingParams) -> Budget | None:
        """The budget of one choice, when there is one to keep.

        Raises:
            BadRequest: the engine does not know the token that would end the reasoning.
        """
        tokens = params.thinking_token_budget
        if tokens is None or (self.ends and self.ended(request)):
            return None
        if not self.ends:
            raise BadRequest(
                "thinking_token_budget needs --reasoning-parser, and a model whose end of reasoning is one token.",
                "thinking_token_budget",
            )
        return Budget(tokens, self.ends)


class Budget:
    """Ends the reasoning of one choice once it has taken its tokens, the opening marker included.

    Args:
        tokens: how many.
        ends: the tokens that close the reasoning.
    """

    def __init__(self, tokens: int, ends: frozenset[int]) -> None:
        self._tokens = tokens
        self._ends = ends
        self._open = True

    def forced(self, output: Sequence[int]) -> int | None:
        """The token that has to come after `output`, or None when any may. To be asked before every token."""
        if output and output[-1] in self._ends:
            self._open = False
        return min(self._ends) if self._open and len(output) >= self._tokens else None
