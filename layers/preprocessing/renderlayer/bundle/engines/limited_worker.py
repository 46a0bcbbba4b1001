"""What a worker of `limited` does with a template: analyse it, or render it."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from renderlayer.bundle.analysis import analyse
from renderlayer.bundle.engines.jinja import JinjaEngine
from renderlayer.bundle.engines.limited import MAX_TEXT
from renderlayer.errors import BadRequest

_LONGEST_REFUSAL = 10_000

_engine = lru_cache(maxsize=32)(JinjaEngine)


def work(request: dict[str, Any], data: bytes) -> tuple[dict[str, Any], bytes]:
    """Render where there is a context, else analyse."""
    if "context" not in request:
        found = analyse(request["source"])
        return {"content_format": found.content_format, "variables": sorted(found.variables)}, b""
    try:
        text = _engine(request["source"]).render(request["context"])
    except BadRequest as error:
        if isinstance(error.__cause__, MemoryError):
            raise error.__cause__ from None
        return {"refusal": error.message[:_LONGEST_REFUSAL]}, b""
    if len(text) > MAX_TEXT:
        return {"refusal": f"The chat template of the request makes a text of more than {MAX_TEXT} characters."}, b""
    return {}, text.encode("utf-8", "surrogatepass")
