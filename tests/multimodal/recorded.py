"""Models and recorded exchanges beside the project, read without the bundle: only what the room of media needs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from jinja2 import Environment
from tokenizers import Tokenizer

from renderlayer.multimodal import MediaItem, modality_of


@dataclass(frozen=True)
class FolderFacts:
    config: dict[str, Any]
    processor: dict[str, Any]
    fingerprint: str = ""
    special_tokens: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class FolderModel:
    """A model folder, with the attributes of the bundle's model that media need."""

    folder: Path
    _tokenizer: Tokenizer = field(init=False)

    def __post_init__(self) -> None:
        self._tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))

    @cached_property
    def facts(self) -> FolderFacts:
        names = ("preprocessor_config", "video_preprocessor_config", "processor_config")
        files = {name: self._json(name) for name in names if (self.folder / f"{name}.json").exists()}
        return FolderFacts(self._json("config"), files)

    @property
    def tokenizer(self) -> FolderModel:
        return self

    @property
    def vocabulary(self) -> FolderModel:
        return self

    def encode(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids)

    def id_of(self, piece: str) -> int | None:
        found: int | None = self._tokenizer.token_to_id(piece)
        return found

    def prompt(self, messages: list[dict[str, Any]]) -> list[int]:
        """Token ids of a chat, media left as units."""
        environment = Environment(trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
        environment.globals["raise_exception"] = _refuse
        config = self._json("tokenizer_config")
        named = self.folder / "chat_template.json"
        source = self._json("chat_template")["chat_template"] if named.exists() else config["chat_template"]
        bos = config.get("bos_token") or ""
        text = environment.from_string(source).render(
            messages=[_for_template(message) for message in messages],
            add_generation_prompt=True,
            bos_token=bos["content"] if isinstance(bos, dict) else bos,
        )
        return self.encode(text)

    def _json(self, name: str) -> dict[str, Any]:
        value: dict[str, Any] = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        return value


def cases(corpus: Path) -> Iterator[dict[str, Any]]:
    """Chat renders with media in a recorded set."""
    with gzip.open(corpus, "rt", encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            if case["path"] == "/v1/chat/completions/render" and isinstance(case["request"], dict) and media(case):
                yield case


def media(case: dict[str, Any]) -> list[MediaItem]:
    """The media items of a chat request, in order."""
    return [
        MediaItem(modality, part, part.get("uuid"))
        for message in case["request"].get("messages", [])
        if isinstance(message.get("content"), list)
        for part in message["content"]
        if (modality := modality_of(part))
    ]


def ranges_fault(wide: dict[str, Any], narrow: dict[str, Any], token_ids: list[int]) -> str | None:
    """What differs between the reference's ranges and ours, which are narrowed to what receives embeddings."""
    if wide.keys() != narrow.keys():
        return f"modalities {list(wide)} and not {list(narrow)}"
    for modality, places in wide.items():
        if len(places) != len(narrow[modality]):
            return f"{len(places)} ranges and not {len(narrow[modality])}"
        for want, got in zip(places, narrow[modality], strict=True):
            if want == got or {**want, "is_embed": got.get("is_embed")} == got:
                continue
            begin, end = got["offset"], got["offset"] + got["length"]
            before, after = want["offset"], want["offset"] + want["length"]
            kinds, around = set(token_ids[begin:end]), {*token_ids[before:begin], *token_ids[end:after]}
            if not (before <= begin < end <= after) or len(kinds) != 1 or kinds & around:
                return f"range {want} and not {got}"
    return None


def _for_template(message: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(message["content"], list):
        return message
    parts = [{"type": modality_of(part)} if modality_of(part) else part for part in message["content"]]
    return {**message, "content": parts}


def _refuse(text: str) -> None:
    raise ValueError(text)
