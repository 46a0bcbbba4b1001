"""Paths of requests."""

from __future__ import annotations

from starlette.types import Scope

FRONT_DOOR = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"})
"""Paths that an engine answers."""


def route_path(scope: Scope) -> str:
    """The path as routes have it: without the prefix, and without a slash at its end."""
    path = str(scope["path"].removeprefix(scope.get("root_path", "")))
    return path.rstrip("/") or path
