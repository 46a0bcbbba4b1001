"""Tools and the choice among them in Anthropic's messages (wire.md 2.9)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from renderlayer.wire.common.base import Body


class MessageTool(Body):
    """A tool of the client; those of a provider, which have a type and no schema, are read as well, to be left out."""

    name: str
    type: str | None = None
    description: str | None = None
    input_schema: dict[str, Any] | None = None
    strict: bool | None = None
    defer_loading: bool | None = None

    @model_validator(mode="after")
    def _callable_or_provided(self) -> MessageTool:
        if self.input_schema is None and not self.provided:
            raise ValueError("a tool needs an input_schema")
        return self

    @property
    def provided(self) -> bool:
        """Whether a provider would run it."""
        return self.input_schema is None and self.type not in (None, "custom")

    @property
    def parameters(self) -> dict[str, Any]:
        """The schema, an object by default."""
        schema = self.input_schema or {}
        return schema if "type" in schema else {**schema, "type": "object"}


class MessageToolChoice(Body):
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None

    @model_validator(mode="after")
    def _named(self) -> MessageToolChoice:
        if self.type == "tool" and not self.name:
            raise ValueError("a tool_choice of type tool needs a name")
        return self
