"""A bundle, shown to a person."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from renderlayer.bundle.model import MANIFEST
from renderlayer.errors import ConfigurationError


def summary(path: str | Path) -> str:
    """What is in the bundle at `path`, laid out for reading.

    Raises:
        ConfigurationError: there is no bundle.
    """
    folder = Path(path)
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
    except FileNotFoundError as error:
        lacks = "it has no bundle.json; `renderlayer pack` makes one" if folder.is_dir() else "there is no such folder"
        raise ConfigurationError(f"{folder} is no bundle: {lacks}") from error
    except OSError as error:
        raise ConfigurationError(f"{folder} is no bundle that can be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{folder} is no bundle: its bundle.json is damaged ({error})") from error
    sections = [
        _model(manifest),
        _tokenizer(manifest),
        _templates(manifest),
        _special_tokens(manifest),
        _files(folder, manifest),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _rows(title: str, rows: list[tuple[str, str]]) -> list[str]:
    width = max((len(name) for name, _ in rows), default=0)
    return [title, *(f"  {name:<{width}}  {value}" for name, value in rows)]


def _model(manifest: dict[str, Any]) -> list[str]:
    facts, source = manifest["facts"], manifest["source"]
    revision = f" at {source['revision']}" if source["revision"] else ""
    return _rows(
        f"{facts['name']}{revision}",
        [
            ("family", f"{facts['model_type']} ({', '.join(facts['architectures'])})"),
            ("context", f"{facts['max_model_len']:,} tokens"),
            ("prompts", "harmony" if facts["harmony"] else "chat template"),
            ("tool parser", facts["tool_parser"] or "none known"),
            ("reasoning parser", facts["reasoning_parser"] or "none known"),
            ("thinking switched by", _switches(facts["thinking_switches"])),
            ("generation defaults", json.dumps(facts["generation_config"])),
            ("media", ", ".join(facts["processor"]) or "text only"),
            ("fingerprint", facts["fingerprint"]),
        ],
    )


def _switches(found: dict[str, bool | None]) -> str:
    states = {True: "on", False: "off", None: "a prompt of its own"}
    return ", ".join(f"{name} (not given: {states[default]})" for name, default in found.items()) or "nothing"


def _tokenizer(manifest: dict[str, Any]) -> list[str]:
    tokenizer, vocabulary = manifest["tokenizer"], manifest["vocabulary"]
    around = f"{tokenizer['prefix_ids']} text {tokenizer['suffix_ids']}"
    decoder = vocabulary["decoder"]["kind"]
    return _rows(
        "tokenizer",
        [
            ("engine", f"{tokenizer['engine']}  ({_verdict(tokenizer['kitoken'], 'kitoken')})"),
            ("falls back", _divergent(tokenizer["divergent_characters"])),
            ("long texts", _verdict(tokenizer["fastokens"], "fastokens")),
            ("decoder", f"{decoder}  ({vocabulary['equal']:,} id lists equal to tokenizers)"),
            ("adds", around if tokenizer["prefix_ids"] or tokenizer["suffix_ids"] else "nothing"),
        ],
    )


def _divergent(ranges: list[list[int]]) -> str:
    count = sum(high - low + 1 for low, high in ranges)
    return f"to tokenizers, for texts with any of {count:,} characters" if count else "never"


def _verdict(evidence: dict[str, Any], name: str) -> str:
    if evidence["equal"]:
        return f"{name} {evidence['version']} equals tokenizers on {evidence['texts']:,} texts"
    return f"{' '.join([name, evidence['version']]).rstrip()} is not used: {evidence['difference']}"


def _templates(manifest: dict[str, Any]) -> list[str]:
    rows = list(manifest["templates"]["named"].items())
    if manifest["templates"]["processor"]:
        rows.append(("processor (without tools)", manifest["templates"]["processor"]))
    if not rows:
        return []
    shown = []
    for name, row in rows:
        why = (
            f"minijinja is not used: {row['difference']}"
            if row["difference"]
            else f"{row['equal']} renderings equal to jinja2"
        )
        shown.append((name, f"{row['engine']}, content as {row['content_format']}  ({why})"))
    return _rows("templates", shown)


def _special_tokens(manifest: dict[str, Any]) -> list[str]:
    facts = manifest["facts"]
    rows = list(facts["special_tokens"].items())
    return _rows("special tokens", [*rows, ("ends generation", ", ".join(map(str, facts["eos_token_ids"])) or "-")])


def _files(folder: Path, manifest: dict[str, Any]) -> list[str]:
    sizes = {**manifest["files"], MANIFEST: (folder / MANIFEST).stat().st_size}
    rows = [(name, f"{size:>12,} bytes") for name, size in sorted(sizes.items())]
    total = f"{sum(sizes.values()):>12,} bytes"
    versions = ", ".join(f"{name} {text}" for name, text in sorted(manifest["facts"]["versions"].items()))
    return [*_rows("files", [*rows, ("total", total)]), "", f"packed with {versions}"]
