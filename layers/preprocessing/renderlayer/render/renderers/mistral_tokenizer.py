"""mistral-common over a packed tokenizer: its rules and formats, our vocabulary and encoding.

The library's own tokenizer takes seconds of CPU to read its vocabulary. It only has to encode texts and to name control
tokens, though, which the bundle does at once; packing proved that both encode alike.
"""

from __future__ import annotations

from typing import Any

from mistral_common.protocol.instruct.normalize import get_normalizer
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers import instruct
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from mistral_common.tokens.tokenizers.model_settings_builder import ModelSettingsBuilder
from mistral_common.tokens.tokenizers.tekken import Tekkenizer

from renderlayer.bundle import Model

_INSTRUCT = {
    TokenizerVersion.v1: instruct.InstructTokenizerV1,
    TokenizerVersion.v2: instruct.InstructTokenizerV2,
    TokenizerVersion.v3: instruct.InstructTokenizerV3,
    TokenizerVersion.v7: instruct.InstructTokenizerV7,
    TokenizerVersion.v11: instruct.InstructTokenizerV11,
    TokenizerVersion.v13: instruct.InstructTokenizerV13,
    TokenizerVersion.v15: instruct.InstructTokenizerV15,
}


def open_mistral(model: Model) -> MistralTokenizer:
    """mistral-common's tokenizer for a packed model."""
    tokenizer = PackedTokenizer(model)
    version = tokenizer.version
    return MistralTokenizer(
        _INSTRUCT[version](tokenizer),
        validator=get_validator(version, mode=ValidationMode.test),
        request_normalizer=get_normalizer(version, tokenizer.model_settings_builder),
    )


class PackedTokenizer(Tekkenizer):  # type: ignore[misc]
    """What mistral-common asks of a tokenizer to write prompts; newer formats insist on this base class."""

    def __init__(self, model: Model) -> None:
        options = model.facts.renderer_options
        settings = options["model_settings"]
        self._tokenizer = model.tokenizer
        self._version = TokenizerVersion(options["version"])
        self._model_settings_builder = None if settings is None else ModelSettingsBuilder.model_validate(settings)
        self._special_tokens_reverse_vocab = dict(model.vocabulary.added)

    def encode(self, s: str, bos: bool, eos: bool) -> list[int]:
        """Token ids of a text, in which nothing is a control token."""
        ids = self._tokenizer.encode(s)
        return [*([self.bos_id] if bos else ()), *ids, *([self.eos_id] if eos else ())]

    def get_special_token(self, s: str) -> int:
        """Id of a control token; older SentencePiece vocabularies lack some, which they then never write."""
        return self._special_tokens_reverse_vocab.get(s, 0)

    def decode(self, tokens: list[int], special_token_policy: Any = None) -> str:
        """The library keeps every prompt as text, too; nobody reads it here."""
        return ""

    @property
    def bos_id(self) -> int:
        return self.get_special_token("<s>")

    @property
    def eos_id(self) -> int:
        return self.get_special_token("</s>")
