"""What a model is, beside its tokenizer and its templates: the `facts` of `bundle.json`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Facts:
    """Facts of a packed model; every field is a key of `facts` in `bundle.json`."""

    name: str
    """What was packed: a Hub id, or the name of a folder."""
    model_type: str
    architectures: list[str]
    max_model_len: int
    """Context length in tokens, as the reference derives it from config.json."""
    generation_config: dict[str, Any]
    eos_token_id: int | None
    """The tokenizer's own EOS."""
    eos_token_ids: list[int]
    """EOS ids of generation_config.json (wire.md 6.3)."""
    special_tokens: dict[str, str]
    """Named special tokens, such as bos_token; variables of chat templates."""
    content_format: str
    """Of the model's template without tools."""
    tool_parser: str
    """Tool parser that suits the model ("": none known); wire.md 7.4."""
    reasoning_parser: str
    """Reasoning parser that suits the model ("": none known); wire.md 7.5."""
    thinking_switches: dict[str, bool | None]
    """The template variables that turn thinking on and off, found by rendering: each with what holds when it is not
    given (null: a prompt of its own)."""
    response_template: dict[str, Any]
    """How the tokenizer describes the model's answers, for the parsers hf and beam; empty: it does not."""
    harmony: bool
    """Whether prompts are harmony's (wire.md 3.8)."""
    renderer: str
    """What writes the prompts where no template does (wire.md 3.7); "": a chat template."""
    renderer_options: dict[str, Any]
    """What that renderer needs to know of the model."""
    tokenizer_engine: str
    template_engine: str
    """Of the model's template without tools; "" when it has none."""
    longest_token: int
    """Code points of the longest vocabulary piece (wire.md 3.6)."""
    config: dict[str, Any]
    """The parts of config.json that others need: media token ids and vision_config."""
    processor: dict[str, Any]
    """Image and video processor configurations, by their file's stem."""
    fingerprint: str
    """SHA-256 over the packed files."""
    versions: dict[str, str]
    """Versions that packed and proved."""

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Facts:
        """Read the `facts` object of a bundle."""
        return cls(**{row.name: value[row.name] for row in fields(cls)})
