"""The filter and the functions that chat templates may use beyond their language (wire.md 3.5)."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any


def tojson(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """JSON with the keys in their own order, non-ASCII raw and nothing escaped for HTML."""
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def strftime_now(pattern: str) -> str:
    """The local time, formatted."""
    return datetime.now().strftime(pattern)
