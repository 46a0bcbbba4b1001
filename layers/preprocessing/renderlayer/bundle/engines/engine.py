"""What every template engine offers."""

from __future__ import annotations

from typing import Any, Protocol


class Engine(Protocol):
    """A compiled template."""

    def render(self, context: dict[str, Any]) -> str:
        """The text for `context`; BadRequest with the template's words when it fails."""
