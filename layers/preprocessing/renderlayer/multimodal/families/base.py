"""What a model family says about its media: placeholders, arithmetic of the layout, fields of an item.

A family turns an item into a `Plan`: the tokens that replace the item's unit in the prompt and the small fields are
there at once; pixels are computed when `Plan.fields` is called, which is never for `mm_payload: none`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from renderlayer.errors import BadRequest, ConfigurationError
from renderlayer.multimodal.tensor import Field, Fields, Tensor
from renderlayer.multimodal.video import sampling
from renderlayer.multimodal.video.sampling import Source

Options = dict[str, Any]

_SECTIONS = frozenset({"images_kwargs", "videos_kwargs", "audio_kwargs", "text_kwargs", "common_kwargs"})


class Lexicon(Protocol):
    """The two things that a family asks of a tokenizer."""

    def id_of(self, piece: str) -> int | None:
        """The id of an added or special token."""

    def encode(self, text: str) -> list[int]:
        """Token ids of a text, without special tokens."""


@dataclass(frozen=True)
class Facts:
    """What a family is built from.

    Args:
        config: the model's config.json.
        image, video, audio: the preprocessor configurations, {} where the model has none.
        processor: processor_config.json.
        named: special tokens by name, such as image_start_token.
    """

    config: Mapping[str, Any]
    image: Mapping[str, Any]
    video: Mapping[str, Any]
    audio: Mapping[str, Any]
    processor: Mapping[str, Any]
    lexicon: Lexicon
    named: Mapping[str, str] = field(default_factory=dict)

    def token(self, piece: str, *config_keys: str) -> int:
        """The id of a placeholder token: as the configuration gives it, else by its text.

        Raises:
            ConfigurationError: neither knows it.
        """
        for key in config_keys:
            if isinstance(self.config.get(key), int):
                return int(self.config[key])
        found = self.lexicon.id_of(piece)
        if found is None:
            raise ConfigurationError(f"the tokenizer has no token {piece!r}")
        return found


def image_token(facts: Facts) -> int | None:
    """The token that stands for an image, when the configuration names one and there is a processor for images."""
    keys = ("image_token_id", "image_token_index") if "image_processor_type" in facts.image else ()
    return next((int(facts.config[key]) for key in keys if isinstance(facts.config.get(key), int)), None)


@dataclass(frozen=True)
class Embeds:
    """Embeddings in the place of a medium: one tensor under "", or tensors by field."""

    tensors: Mapping[str, Tensor]

    def bare(self, modality: str) -> Tensor:
        """The embeddings of one item, (positions, width).

        Raises:
            BadRequest: there are several items, or fields.
        """
        tensor = self.tensors.get("") or self.tensors.get(f"{modality}_embeds")
        if tensor is not None and len(tensor.shape) == 3 and tensor.shape[0] == 1:
            tensor = Tensor(tensor.dtype, tensor.shape[1:], tensor.data)
        if tensor is None or len(tensor.shape) != 2 or not tensor.shape[0]:
            raise BadRequest(f"{modality}_embeds must be one tensor of shape (positions, width).")
        return tensor


@dataclass(frozen=True)
class Plan:
    """The layout of one item.

    Args:
        replacement: the token ids that take the place of the item's target in the prompt.
        metadata: the fields that are known without pixels and that the engine keeps on the host.
        fields: computes all fields of the item, in their order on the wire.
        is_embed: which positions of the replacement receive an embedding; None for all of them.
        narrow: whether the item's range may be narrowed to these; not where the engine reads what stands around them.
    """

    replacement: list[int]
    metadata: Fields
    fields: Callable[[], Fields]
    is_embed: list[bool] | None = None
    narrow: bool = True


class Family(Protocol):
    """A model family; one file each in this folder."""

    modalities: Sequence[str]
    gaps: Mapping[str, str]  # modality → how far from the reference's; what is not named equals it to the last bit
    item_limits: Mapping[str, int]  # modality → most items that the model takes in a prompt, where there is a limit
    portable: bool  # whether payloads are the same bytes with and without torch
    sampling_rate: int  # of audio, in Hz
    video_backend: str  # the reference's reader of videos, which their hashes name

    def placeholder(self, modality: str, ordinal: int) -> str:
        """The text that stands for the item in templates of the string format; `ordinal` counts from 1."""

    def target(self, modality: str) -> list[int]:
        """The token ids that the prompt holds for an item and that its replacement replaces."""

    def prepared(self, token_ids: list[int]) -> list[int]:
        """The prompt with a target for items that have none in it; the same for most."""

    def for_item_count(self, count: int) -> Family:
        """The family for a prompt with so many items."""

    def hash_context(self, modality: str, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """What of the prompt changes its items' tensors; it joins their hashes. Nothing for most.

        Args:
            kwargs: processor options, as `plan` takes them.
        """

    def plan(self, modality: str, media: Any, kwargs: Mapping[str, Any]) -> Plan:
        """Lay out one item.

        Args:
            media: a `Picture`, a `Clip` or a `Sound`.
            kwargs: processor options, the server's with the request's over them.

        Raises:
            BadRequest: the item cannot be processed, such as an image of an extreme shape.
        """

    def numbered(self, modality: str, plan: Plan, before: int) -> Plan:
        """The layout of the item that has so many of its kind before it in the prompt; the same for most."""

    def plan_embeds(self, modality: str, embeds: Embeds) -> Plan:
        """Lay out embeddings that the client computed.

        Raises:
            BadRequest: the family takes none, or others.
        """

    def sample(self, source: Source, chosen: Mapping[str, Any]) -> list[int]:
        """Indices of the frames of a video that the model sees; `chosen` is `media_io_kwargs.video`."""

    def join(self, left: int, right: int) -> int | None:
        """The one token that two neighbours become where a replacement meets the prompt; None for most."""


def options(defaults: Mapping[str, Any], kwargs: Mapping[str, Any], section: str) -> Options:
    """Processor options of one modality: its configuration, flat kwargs over it, its own section last."""
    flat = {key: value for key, value in kwargs.items() if key not in _SECTIONS}
    return {**defaults, **flat, **kwargs.get(section, {})}


class Plain:
    """What most families have in common."""

    gaps: Mapping[str, str] = {}
    item_limits: Mapping[str, int] = {}
    portable = True
    sampling_rate = 16_000
    video_backend = "opencv"

    embeds_token: int | None = None

    def prepared(self, token_ids: list[int]) -> list[int]:
        """Targets are in the prompt."""
        return token_ids

    def for_item_count(self, count: int) -> Any:
        """Items do not depend on each other."""
        return self

    def hash_context(self, modality: str, kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Items do not depend on each other."""
        return {}

    def numbered(self, modality: str, plan: Plan, before: int) -> Plan:
        """Items are not numbered."""
        return plan

    def plan_embeds(self, modality: str, embeds: Embeds) -> Plan:
        """A token a position, for families whose image is nothing but such tokens."""
        if self.embeds_token is None:
            raise BadRequest(f"The model does not take {modality} embeddings.")
        tensor = embeds.bare(modality)
        fields = {f"{modality}_embeds": Field(tensor, "batched")}
        return Plan([self.embeds_token] * tensor.shape[0], {}, lambda: fields)

    def join(self, left: int, right: int) -> int | None:
        """Replacements do not merge with their surroundings."""
        return None

    def sample(self, source: Source, chosen: Mapping[str, Any]) -> list[int]:
        """Frames spread evenly."""
        return sampling.uniform(source, chosen)
