"""The round trip as packing makes it and `renderlayer inspect` shows it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from renderlayer.bundle import MANIFEST, open_bundle
from renderlayer.bundle.pack import write_manifest
from renderlayer.errors import RenderLayerError
from renderlayer.roundtrip.examine import examine
from renderlayer.roundtrip.report import lines
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings


def add_round_trip(folder: Path) -> None:
    """Try the parsers that were found for the bundle in `folder`; its manifest keeps the result as `round_trip`.

    It is what `examine` returns; or `skipped` alone, a reason: prompts that no template writes, or a template that
    takes no tools.
    """
    manifest = json.loads((folder / MANIFEST).read_bytes())
    write_manifest({**manifest, "round_trip": _tried(folder)}, folder)


def _tried(folder: Path) -> dict[str, Any]:
    server = ServedModel(open_bundle(folder), Settings(model=str(folder)))
    try:
        return examine(server, progress=_told)
    except RenderLayerError as error:
        return {"skipped": f"the chat template refuses tools: {error.message.splitlines()[0][:200]}"}


def shown(folder: str | Path) -> list[str]:
    """The lines for `renderlayer inspect`; none for a bundle that was packed without the round trip."""
    report = json.loads((Path(folder) / MANIFEST).read_bytes()).get("round_trip")
    return lines(report) if report else []


def _told(done: int, total: int) -> None:
    """Progress, for somebody who is looking."""
    if sys.stderr.isatty():
        print(f"\rround trip: {done} of {total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
