"""What every template engine offers, and what is known of a template before it is rendered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol


class TemplateEngine(Protocol):
    """A compiled template."""

    def render(self, context: dict[str, Any]) -> str:
        """The text for `context`; BadRequest with the template's words when it fails."""


@dataclass(frozen=True)
class Analysis:
    """How a template wants message contents (wire.md 3.2), and the names that it takes from outside (wire.md 3.5)."""

    content_format: str = "string"
    variables: frozenset[str] = frozenset()
