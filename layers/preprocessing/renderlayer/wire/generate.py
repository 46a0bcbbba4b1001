"""What goes to `/inference/v1/generate` (wire.md 2.1, 4.6): render's result and the engine's request."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from renderlayer.errors import BadRequest
from renderlayer.wire.common.base import INT64_MAX, INT64_MIN, Body, DictOf, ListOf, check_cache_salt

GENERATE_PREFIX = "generate-tokens-"
"""What an engine puts before the id of a request."""

Int64 = Annotated[int, Field(ge=INT64_MIN, le=INT64_MAX)]
OutputMode = Literal["tokens", "text", "derender"]


class StreamOptions(Body):
    model_config = ConfigDict(extra="allow")

    include_usage: bool | None = False
    continuous_usage_stats: bool | None = False


class ContinueFrom(Body):
    """What the last turn was rendered to and what was sampled for it, so that the prompt goes on from there (2.10).

    `messages` counts the request's messages that the ids hold, the sampled turn included. `prefix` is the digest of ids
    that are kept here: of the prompt and the output, or of the prompt, and then `output_token_ids` follow it.
    """

    prompt_token_ids: Annotated[ListOf[int], Field(min_length=1)] = Field(default_factory=list)
    output_token_ids: ListOf[int] = Field(default_factory=list)
    prefix: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    messages: Annotated[int, Field(ge=1)]
    history: Literal["template", "keep"] = "template"
    require: bool = False
    appended_only: bool = False

    @model_validator(mode="after")
    def _given_once(self) -> ContinueFrom:
        given = {"prompt_token_ids", "output_token_ids"} & self.model_fields_set
        if ("prompt_token_ids" in given) if self.prefix is not None else len(given) != 2:
            raise BadRequest(
                "continue_from must have output_token_ids with prompt_token_ids, or with prefix, or prefix alone.",
                "continue_from",
            )
        return self


class PlaceholderRange(Body):
    """Where an item's tokens stand: `length` tokens from `offset` in token_ids.

    `is_embed` says which of them take an embedding, where not all do; the reference ignores the key.
    """

    offset: Annotated[int, Field(ge=0)]
    length: Annotated[int, Field(gt=0)]
    is_embed: ListOf[bool] | None = None


class MultiModalFeatures(Body):
    """Hashes, ranges and payloads of all items, by modality, in prompt order (wire.md 4.6)."""

    mm_hashes: DictOf[str, ListOf[str]]
    mm_placeholders: DictOf[str, ListOf[PlaceholderRange]]
    kwargs_data: DictOf[str, ListOf[str | None]] | None = None
    mm_metadata: DictOf[str, ListOf[str | None]] | None = None

    @model_validator(mode="after")
    def _consistent(self) -> MultiModalFeatures:
        for name in ("mm_placeholders", "kwargs_data", "mm_metadata"):
            lists = getattr(self, name)
            if lists is None:
                continue
            if lists.keys() != self.mm_hashes.keys():
                raise ValueError(f"{name} must have the same modalities as mm_hashes")
            for modality, entries in lists.items():
                if len(entries) != len(self.mm_hashes[modality]):
                    raise ValueError(f"{name}[{modality!r}] must have as many entries as mm_hashes[{modality!r}]")
        end = 0
        ranges = [entry for entries in self.mm_placeholders.values() for entry in entries]
        for entry in sorted(ranges, key=lambda entry: entry.offset):
            if entry.offset < end:
                raise ValueError("mm_placeholders must be globally non-overlapping and sorted")
            end = entry.offset + entry.length
        return self

    def end(self) -> int:
        """The first token position behind every range."""
        ranges = [entry for entries in self.mm_placeholders.values() for entry in entries]
        return max((entry.offset + entry.length for entry in ranges), default=0)

    def metadata_only(self) -> bool:
        """True when some item has metadata but no tensors: its embedding comes from an encoder cache."""
        for modality, entries in (self.mm_metadata or {}).items():
            data = (self.kwargs_data or {}).get(modality) or [None] * len(entries)
            if any(meta is not None and tensors is None for meta, tensors in zip(entries, data, strict=True)):
                return True
        return False


class ReasoningParserKwargs(BaseModel):
    model_config = ConfigDict(extra="forbid")

    chat_template_kwargs: dict[str, Any] | None = None


class GenerateRequest(Body):
    """The engine's request. Every field is described in wire.md 2.1."""

    request_id: str | None = None
    token_ids: Annotated[ListOf[int], Field(min_length=1)]
    token_offsets: ListOf[tuple[int, int]] | None = None
    features: MultiModalFeatures | None = None
    content_parts: ListOf[dict[str, Any]] | None = None
    sampling_params: dict[str, Any]
    model: str | None = None
    reasoning_ended: bool | None = None
    reasoning_parser_kwargs: ReasoningParserKwargs | None = None
    return_token_ids: bool | None = None
    output_mode: OutputMode = "tokens"
    parse_context: dict[str, Any] | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    cache_salt: str | None = None
    priority: Int64 = 0
    kv_transfer_params: dict[str, Any] | None = None
    ec_transfer_params: dict[str, Any] | None = None

    @model_validator(mode="before")
    @classmethod
    def _salted(cls, data: Any) -> Any:
        if isinstance(data, dict):
            check_cache_salt(data)
        return data

    @field_validator("token_ids")
    @classmethod
    def _not_negative(cls, token_ids: list[int]) -> list[int]:
        if min(token_ids) < 0:
            raise ValueError("token_ids must not contain negative values")
        return token_ids

    @model_validator(mode="after")
    def _consistent(self) -> GenerateRequest:
        if self.content_parts is not None and self.features is not None:
            raise ValueError("content_parts and features are mutually exclusive")
        if self.output_mode != "tokens" and self.sampling_params.get("detokenize") is False:
            raise ValueError(f"output_mode='{self.output_mode}' requires sampling_params.detokenize to be true")
        if self.features is not None:
            if self.features.end() > len(self.token_ids):
                raise ValueError("mm_placeholders must remain within token_ids")
            if self.features.metadata_only() and not self.ec_transfer_params:
                raise ValueError("metadata-only multimodal items require ec_transfer_params")
        return self
