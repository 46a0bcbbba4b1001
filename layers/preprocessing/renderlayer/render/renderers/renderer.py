"""What a family's renderer is given and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from renderlayer.render.chat_prompt import MediaOptions, Prompt
    from renderlayer.render.dialect import Dialect
    from renderlayer.render.prompt import TokenizeOptions


@dataclass(frozen=True)
class Talk:
    """A conversation to be rendered.

    Attributes:
        messages: chat messages, already checked.
        tools: tool objects, or None.
        kwargs: the effective template kwargs.
        effort: the request's reasoning effort, after the server's map.
        limited: whether the context length binds (/tokenize has no limit).
        dialect: the API that the messages came through.
    """

    messages: Sequence[dict[str, Any]]
    tools: list[dict[str, Any]] | None
    kwargs: dict[str, Any]
    options: TokenizeOptions
    media: MediaOptions
    effort: str | None
    limited: bool
    dialect: Dialect


class Renderer(ABC):
    """Writes the prompts of one family. Safe to use from several threads."""

    @abstractmethod
    def check_template(self, chat_template: str | None, kwargs: dict[str, Any] | None) -> None:
        """Refuse a request's template and template kwargs where the family does not ignore them.

        Raises:
            BadRequest: the request must not bring them.
        """

    def grammar(
        self,
        tools: list[dict[str, Any]] | None,
        tool_choice: str | dict[str, Any] | None,
        parallel_tool_calls: bool | None,
        constraint: dict[str, Any] | None,
    ) -> str | None:
        """A Lark grammar of the whole answer, for families that describe it so (wire.md 2.7).

        Args:
            tools, tool_choice, parallel_tool_calls: of the request, dumped.
            constraint: the request's own constraint, all keys present.

        Raises:
            BadRequest: the request contradicts itself.
        """
        return None

    @abstractmethod
    def prompt(self, talk: Talk) -> Prompt:
        """Token ids of a conversation.

        Raises:
            BadRequest: the family cannot express it, or it is too long.
        """
