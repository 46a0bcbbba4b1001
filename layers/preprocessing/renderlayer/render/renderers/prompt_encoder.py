"""Families whose prompts a program writes as text, where others have a chat template."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar


class PromptEncoder(ABC):
    """Takes the place of a chat template (`bundle.ChatTemplate`): same input, same output. Has no state."""

    content_format: ClassVar[str]
    """How it wants message contents: "string" or "openai"."""
    mentions_developer: ClassVar[bool] = True
    """Developer messages reach the program as they are."""
    infill: ClassVar[tuple[str, str, str] | None] = None
    """Texts before, between and after two texts, for a prompt that asks for what is between them; None: no such."""

    @abstractmethod
    def render(
        self,
        conversation: list[dict[str, Any]],
        tools: list[dict[str, Any]] | None,
        documents: list[Any] | None,
        kwargs: Mapping[str, Any],
    ) -> str:
        """The prompt's text.

        Args:
            conversation: messages in `content_format`.
            tools: tool objects, or None.
            documents: ignored.
            kwargs: template kwargs; names that the program does not know are ignored.

        Raises:
            BadRequest: the family cannot express the conversation.
        """
