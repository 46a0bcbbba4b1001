"""The round trip of every chat template that has a parser: the table of docs/parsers.md.

python -m tests.roundtrip.families    # writes the table; needs ../shared
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer

from renderlayer.bundle import Model, open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.bundle.pack.families import suitable_parsers
from renderlayer.bundle.pack.source import ModelSource
from renderlayer.errors import RenderLayerError
from renderlayer.parsers import ParserNames
from renderlayer.roundtrip import examine
from renderlayer.roundtrip.reading import Sizes
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.conftest import SHARED

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parsers.md"
HEAD = "| template | parsers that `auto` takes | tool calls | content | reasoning | what does not come back |"
_SPECIAL = re.compile(r"<[|｜][^<>\s'\"{}()]{1,40}>")
_SUFFIXED = ("think", "tool_calls", "tool_call", "tool_sep", "arg_key", "arg_value")
_SHORT = 24
_SHOWN = 3


def templates() -> list[Path]:
    """Chat templates for which a tool parser is found."""
    return [path for path in sorted((SHARED / "templates").glob("*.jinja")) if parsers(path).tool]


def parsers(template: Path) -> ParserNames:
    """What `auto` takes for a model with this template, all of whose markers are tokens."""
    source = ModelSource(Path("nowhere"), template.stem)
    source.config = {}
    tool, reasoning = suitable_parsers(source, [template.read_text(encoding="utf-8")], lambda text: True)
    return ParserNames(tool or None, reasoning or None)


def make_model(folder: Path) -> Model:
    """A model whose vocabulary has every special token that a template names."""
    source = SHARED / "models" / "tiny-zoo"
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    named = {token for path in (SHARED / "templates").glob("*.jinja") for token in _SPECIAL.findall(path.read_text())}
    known = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    hunyuan = [f"<{slash}{word}:opensource>" for word in _SUFFIXED for slash in ("", "/")]
    extra = [*sorted(named - known), *hunyuan, "]<]minimax[>[", "<seed:bos>", "<seed:eos>", "<sep>"]
    tokenizer.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in extra])
    model = folder / "model"
    model.mkdir()
    for name in ("config.json", "generation_config.json", "tokenizer_config.json"):
        (model / name).write_bytes((source / name).read_bytes())
    tokenizer.save(str(model / "tokenizer.json"))
    return open_bundle(pack(model, folder / "bundle"))


def serve(model: Model, template: Path, bundle: Path) -> ServedModel:
    """The model with this template and the parsers that suit it."""
    opened = open_bundle(bundle, Settings(chat_template=str(template)))
    names = parsers(template)
    facts = replace(opened.facts, tool_parser=names.tool or "", reasoning_parser=names.reasoning or "")
    return ServedModel(
        replace(model, templates=opened.templates, facts=facts),
        Settings(model=str(bundle), chat_template=str(template)),
    )


def chunks(count: int) -> Iterator[Sizes]:
    """Chunks of several sizes; short turns are cut in two at every place."""
    yield from ((size,) for size in (1, 2, 3, 7))
    if count <= _SHORT:
        yield from ((first, count) for first in range(1, count))


def report(server: ServedModel) -> dict[str, Any]:
    """The round trip; `skipped` where the template refuses tools."""
    try:
        return examine(server, cuts=chunks)
    except RenderLayerError as error:
        return {"skipped": error.message.splitlines()[0]}


def row(template: Path, found: dict[str, Any]) -> str:
    """The template's line of the table."""
    names = " + ".join(f"`{name}`" for name in parsers(template) if name)
    if "skipped" in found:
        return f"| {template.stem} | {names} | – | – | – | the template refuses tools: {_cell(found['skipped'])} |"
    counts = [f"{found[part]['back']} of {found[part]['made']}" for part in ("calls", "content", "reasoning")]
    return f"| {template.stem} | {names} | {' | '.join(counts)} | {_cell('; '.join(_reasons(found)))} |"


def _reasons(found: dict[str, Any]) -> Iterator[str]:
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for loss in found["losses"]:
        reason = loss["reason"] if loss["by"] == "template" else "misread"
        if loss["reason"] or loss["by"] == "parser":
            grouped.setdefault((loss["part"], loss["by"], reason), []).append(loss["case"])
    refused: dict[str, list[str]] = {}
    for refusal in found["refused"]:
        refused.setdefault(refusal["reason"], []).append(refusal["case"])
    for (part, _, reason), cases in grouped.items():
        alone = sum(other == part for other, _, _ in grouped) == 1
        whole = alone and found[part]["back"] == 0
        yield f"{part} {reason}" + ("" if whole else f" ({_listed(cases)})")
    for reason, cases in refused.items():
        yield f"refused: {reason} ({_listed(cases)})"


def _listed(cases: list[str]) -> str:
    return ", ".join(cases[:_SHOWN]) + (f" and {len(cases) - _SHOWN} more" if len(cases) > _SHOWN else "")


def _cell(text: str) -> str:
    return re.sub(r"(\S*[<\[|｜][^\s,;()]*)", r"`\1`", text).replace("|", "\\|")


@cache
def table() -> dict[str, str]:
    """The lines of the page's table, by template."""
    written = PAGE.read_text(encoding="utf-8").partition(HEAD)[2]
    lines = [line for line in written.splitlines() if line.startswith("| ")]
    return {line.split(" | ")[0].removeprefix("| "): line for line in lines}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = make_model(Path(folder))
        rows = []
        for template in templates():
            rows.append(row(template, report(serve(model, template, Path(folder) / "bundle"))))
            print(rows[-1], file=sys.stderr)
    before = PAGE.read_text(encoding="utf-8").partition(HEAD)[0]
    PAGE.write_text("\n".join([before + HEAD, "|---|---|---|---|---|---|", *rows, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
