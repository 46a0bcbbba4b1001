"""A model whose tokenizer has the markers of all templates of a folder as tokens, so that each can stand on it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from tokenizers import Tokenizer

from renderlayer.bundle import open_bundle
from renderlayer.bundle.pack import pack
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from tests.models import SPECIAL_TOKENS, make_model_folder

MARKERS = re.compile(
    r"<[|｜][^<>\s{}'\"]+>|<(?:start|end)_of_\w+>|</?(?:s|bos|eos|assistant|user|system|sep|turn)>|<SPECIAL_\d+>|"
    r"<\w+\|>|<seed:\w+>|\[/?[A-Z_]{3,}\]|\[\|\w+\|\]|\[[eE]~\[|\][~!][!b]\[?"
)
WRITTEN = (
    *(f"<｜hy_{name}:opensource｜>" for name in ("eos", "User", "Assistant", "begin_of_sentence")),
    *("<｜begin▁of▁sentence｜>", "[gMASK]", "<sop>", "]~!b[", "]~b]", "[e~["),
    *("<minimax:tool_call>", "</minimax:tool_call>"),
    *("<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>", "<tool_response>", "</tool_response>"),
    *("<think>", "</think>", "/nothink"),
)  # put together by their templates, or variables of them
STOPS = (
    "</s>", "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|user|>",
    "<|observation|>", "<|return|>", "<|call|>", "<|calls|>", "<end_of_turn>", "<turn|>", "<|tool_response>",
    "<|end_of_text|>", "<|END_OF_TURN_TOKEN|>", "<｜end▁of▁sentence｜>", "[e~[", "<seed:eos>", "<|end_of_msg|>",
    "</assistant>", "[|endofturn|]", "<sep>", "<SPECIAL_12>", "<|assistant_end|>", "<|tools_suffix|>",
    "<｜hy_eos:opensource｜>",
)  # fmt: skip


def markers(templates: Path) -> list[str]:
    """What the templates of a folder write that is a token of their models."""
    found = set(WRITTEN) | set(STOPS)
    for file in templates.glob("*.jinja"):
        found.update(text for text in MARKERS.findall(file.read_text(encoding="utf-8")) if len(text) < 40)
    return sorted(found - set(SPECIAL_TOKENS))


def make_museum(templates: Path, folder: Path) -> Path:
    """Pack the model into `folder`; returns the bundle."""
    source = make_model_folder(
        folder / "museum", special_tokens=(*SPECIAL_TOKENS, *markers(templates)), context=1 << 17
    )
    tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
    ids = [token_id for text in STOPS if (token_id := tokenizer.token_to_id(text)) is not None]
    (source / "generation_config.json").write_text(json.dumps({"eos_token_id": ids}))
    config = json.loads((source / "tokenizer_config.json").read_text())
    config |= {"eos_token": "</s>", "bos_token": "<s>"}
    (source / "tokenizer_config.json").write_text(json.dumps(config))
    return pack(source, folder / "museum.bundle")


@cache
def with_template(bundle: Path, template: Path) -> ServedModel:
    """The model with a template."""
    settings = Settings(model=str(bundle), chat_template=str(template))
    return ServedModel(open_bundle(bundle, settings), settings)
