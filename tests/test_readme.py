"""What the README says is so."""

from __future__ import annotations

from pathlib import Path

from renderlayer.http.complete import PATHS
from renderlayer.http.routes import ROUTES
from renderlayer.settings import table

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")


def test_the_table_of_settings_is_the_one_of_the_code() -> None:
    rows = [f"| `{variable}` | `{flag}` | `{default}` | {about} |" for variable, flag, default, about in table()]
    written = README.split("<!-- settings -->\n")[1].split("<!-- /settings -->")[0].strip().splitlines()
    assert written[2:] == rows


def test_every_endpoint_is_named() -> None:
    for path in [*(route.path for route in ROUTES), *PATHS]:
        parts = path.removeprefix("/v1/").split("/")
        assert all(part in README for part in parts), path
