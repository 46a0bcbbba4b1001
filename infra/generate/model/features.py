"""From a request's multimodal features to the keyword arguments of the model's forward pass (wire.md 4.6, 4.9)."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import torch
from transformers import PreTrainedModel

from infra.generate.model.connector import MODALITY, ObjectStoreConnector
from infra.generate.model.items import Item, read_item
from infra.generate.model.runner import Prompt
from renderlayer.errors import BadRequest, Unavailable
from renderlayer.wire.generate import GenerateRequest

_PIXELS = {"pixel_values": "preprocessor_config", "pixel_values_videos": "video_preprocessor_config"}
# The mean and deviation of CLIP's images, which image processors of these families take where no file says otherwise.
_MEAN = (0.48145466, 0.4578275, 0.40821073)
_DEVIATION = (0.26862954, 0.26130258, 0.27577711)
_KEPT_ITEMS = 32


class Features:
    """Prepares multimodal prompts of one model.

    Args:
        model: the model.
        processor: processor configurations by their file's stem, as the bundle has them.
        connector: where encoder outputs come from and go to, if anywhere.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        processor: Mapping[str, Mapping[str, Any]],
        connector: ObjectStoreConnector | None = None,
    ) -> None:
        self._model = model
        self._processor = processor
        self._connector = connector
        self._accepted = frozenset(inspect.signature(model.forward).parameters)
        self._recent: OrderedDict[str, Item] = OrderedDict()
        self._lock = Lock()

    def prompt(self, request: GenerateRequest) -> Prompt:
        """The prompt with what the model takes beside it.

        Raises:
            BadRequest: an item cannot be read, or does not fit the prompt or the model.
            Unavailable: an item came without its tensors, and is not among those seen lately.
        """
        features = request.features
        if features is None or not any(features.mm_hashes.values()):
            return Prompt(request.token_ids)
        items = list(self._items(request))
        inputs = {name: value for name, value in _gathered(items).items() if name in self._accepted}
        if not inputs:
            raise BadRequest("This model takes no multimodal features.", "features")
        for name in inputs.keys() & _PIXELS.keys():
            inputs[name] = self._pixels(inputs[name], self._processor.get(_PIXELS[name], {}))
        kinds = self._kinds(request.token_ids)
        if "token_type_ids" in self._accepted:  # image tokens see each other in both directions (Gemma 3)
            inputs["token_type_ids"] = kinds
        shift = None
        if hasattr(self._model.base_model, "get_rope_index"):
            inputs["position_ids"], shift = self._positions(request.token_ids, kinds, inputs)
        told = None
        if self._connector is not None and list(features.mm_hashes) == [MODALITY]:
            brought = ["pixel_values" in item for item in items]
            inputs, told = self._connector.exchange(
                features.mm_hashes[MODALITY], brought, inputs, request.ec_transfer_params
            )
        return Prompt(request.token_ids, inputs, shift, told)

    def _items(self, request: GenerateRequest) -> Iterator[Item]:
        features = request.features
        assert features is not None
        for modality, hashes in features.mm_hashes.items():
            data = (features.kwargs_data or {}).get(modality) or [None] * len(hashes)
            metadata = (features.mm_metadata or {}).get(modality) or [None] * len(hashes)
            for digest, tensors, facts in zip(hashes, data, metadata, strict=True):
                elsewhere = self._connector is not None and self._connector.knows(digest, request.ec_transfer_params)
                if elsewhere and tensors is None and facts is not None:
                    yield read_item(facts)
                else:
                    yield self._item(digest, tensors, facts)

    def _item(self, digest: str, tensors: str | None, facts: str | None) -> Item:
        if tensors is None:
            with self._lock:
                item = self._recent.pop(digest, None)
            if item is None:
                raise Unavailable(f"The item {digest} came without its tensors, which are not here: send them again.")
        else:
            item = {**read_item(tensors), **(read_item(facts) if facts is not None else {})}
        with self._lock:
            self._recent[digest] = item
            while len(self._recent) > _KEPT_ITEMS:
                self._recent.popitem(last=False)
        return item

    def _pixels(self, pixels: torch.Tensor, config: Mapping[str, Any]) -> torch.Tensor:
        """Pixels in the model's type; raw ones (uint8, [patches, channels · rest]) are normalised first."""
        if pixels.dtype == torch.uint8:
            mean = torch.tensor(config.get("image_mean") or _MEAN)
            deviation = torch.tensor(config.get("image_std") or _DEVIATION)
            planes = pixels.reshape(len(pixels), len(mean), -1).float() / 255
            pixels = ((planes - mean[:, None]) / deviation[:, None]).reshape(pixels.shape)
        return pixels.to(self._model.dtype)

    def _kinds(self, token_ids: Sequence[int]) -> torch.Tensor:
        """[1, tokens]: 1 for image tokens, 2 for video tokens, 0 for text."""
        ids = torch.tensor([token_ids])
        kinds = torch.zeros_like(ids, dtype=torch.int32)
        for kind, name in enumerate(("image_token_id", "video_token_id"), start=1):
            token_id = getattr(self._model.config, name, None)
            if token_id is not None:
                kinds[ids == token_id] = kind
        return kinds

    def _positions(
        self, token_ids: Sequence[int], kinds: torch.Tensor, inputs: Mapping[str, Any]
    ) -> tuple[torch.Tensor, int]:
        """Positions in time, height and width ([3, 1, tokens]), and what later ones are shifted by."""
        locate = self._model.base_model.get_rope_index
        grids = {name: value for name, value in inputs.items() if name in inspect.signature(locate).parameters}
        try:
            positions, shift = locate(torch.tensor([token_ids]), mm_token_type_ids=kinds, **grids)
        except (RuntimeError, ValueError, TypeError, IndexError, StopIteration) as error:
            raise BadRequest("The features do not fit the placeholders in token_ids.", "features") from error
        return positions, int(shift)


def _gathered(items: Sequence[Item]) -> dict[str, Any]:
    """All items' fields, joined as their descriptors say."""
    columns: dict[str, list[Any]] = {}
    rules: dict[str, tuple[str, int]] = {}
    for item in items:
        for name, field in item.items():
            columns.setdefault(name, []).append(field.value)
            rules[name] = (field.kind, field.dim)
    return {name: _joined(values, *rules[name]) for name, values in columns.items()}


def _joined(values: list[Any], kind: str, dim: int) -> Any:
    """One value for all items: stacked, concatenated or the first; plain data stays a list."""
    if kind == "shared":
        return values[0]
    if not all(isinstance(value, torch.Tensor) for value in values):
        return values
    try:
        return torch.stack(values) if kind == "batched" else torch.cat(values, dim)
    except (RuntimeError, IndexError):
        raise BadRequest("The multimodal items do not fit together.", "features") from None
