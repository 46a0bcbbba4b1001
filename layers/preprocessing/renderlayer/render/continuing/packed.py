"""When prompts can be extended, as packing finds it out and `renderlayer inspect` shows it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from renderlayer.bundle import MANIFEST, open_bundle
from renderlayer.bundle.pack import write_manifest
from renderlayer.errors import RenderLayerError
from renderlayer.render.continuing.refusal import NotExtended
from renderlayer.render.continuing.verdict import EXTENDED, describe_continues
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings


def add_continues(folder: Path) -> None:
    """Try the model's template; the manifest of the bundle in `folder` keeps the result as `continues`."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    write_manifest({**manifest, "continues": _tried(folder)}, folder)


def _tried(folder: Path) -> dict[str, Any]:
    try:
        return describe_continues(ServedModel(open_bundle(folder), Settings(model=str(folder))))
    except (RenderLayerError, NotExtended) as error:
        return {"when": "never", "because": str(error).splitlines()[0][:200], "cases": {}, "kwargs": {}}


def shown(folder: str | Path) -> list[str]:
    """The lines for `renderlayer inspect`; none for a bundle that was packed without the trial."""
    found = json.loads((Path(folder) / MANIFEST).read_bytes()).get("continues")
    if not found:
        return []
    because = f", because {found['because']}" if found["because"] else ""
    rows = [f"continues: {found['when']}{because}"]
    rows += [f"  {name:<24}  {_case(verdict)}" for name, verdict in found["cases"].items()]
    return rows + [
        f"  with {name}: {value:<{max(1, 18 - len(name))}}  {when}"
        for name, values in found["kwargs"].items()
        for value, when in values.items()
    ]


def _case(verdict: str | None) -> str:
    if verdict is None:
        return "not in this template"
    return verdict if verdict == EXTENDED else f"rendered anew: {verdict}"
