"""What a family's renderer is given and what it gives back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from renderlayer.render.types import ChatParams, Prompt


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
    def prompt(self, params: ChatParams) -> Prompt:
        """Token ids of a conversation.

        Raises:
            BadRequest: the family cannot express it, or it is too long.
        """
