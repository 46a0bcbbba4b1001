"""The description of the API: made once, when the package is built, and read by whoever is asked for it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("openapi.json")
"""Where a build leaves the description; a checkout has none here."""


@cache
def description() -> dict[str, Any]:
    """The description of everything that a deployment serves (OpenAPI 3.1)."""
    if FILE.is_file():
        made: dict[str, Any] = json.loads(FILE.read_bytes())
        return made
    from renderlayer.http.openapi.build import describe

    return describe()
