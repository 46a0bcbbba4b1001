"""Encoder outputs in object storage: how an engine that encodes images hands them to one that does not (wire.md 4.9).

The producer computes an image's embedding, stores it, and answers its coordinates (`ec_transfer_params`); the consumer
gets them with the image's metadata and loads the embedding. Started with the reference's flag:

    --ec-transfer-config '{"ec_connector": "ObjectStoreConnector", "ec_role": "ec_producer"}'
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from transformers import PreTrainedModel
from transformers.utils import ModelOutput

from infra.generate.options import Options
from renderlayer.errors import BadRequest, ConfigurationError, FailedDependency
from renderlayer.references.address import Address, Place, place_of
from renderlayer.references.content_store import ContentStore, StoredContent
from renderlayer.references.fetch import Flawed, as_bytes, describe
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.storage.objects import Gone, ObjectStore
from renderlayer.storage.s3 import S3Store

NAME = "ObjectStoreConnector"
MODALITY = "image"
OUTPUTS = "mm_encoder_outputs"
LOAD_SECONDS = 10
_ROLES = {"ec_producer": (True, False), "ec_consumer": (False, True), "ec_both": (True, True)}


@dataclass(frozen=True)
class Embedding:
    """What the encoder makes of an image.

    Attributes:
        pooled: [tokens, hidden], which takes the place of the placeholder's embeddings.
        levels: [tokens, hidden] each, added behind the first layers by models that do so.
    """

    pooled: torch.Tensor
    levels: Sequence[torch.Tensor] = ()

    def dump(self) -> bytes:
        levels = {f"level.{at}": level.contiguous() for at, level in enumerate(self.levels)}
        return bytes(save({"pooled": self.pooled.contiguous(), **levels}))

    @classmethod
    def read(cls, data: bytes) -> Embedding:
        tensors = load(data)
        return cls(tensors["pooled"], [tensors[f"level.{at}"] for at in range(len(tensors) - 1)])


class ObjectStoreConnector:
    """Encodes, stores and loads the images of requests.

    Args:
        model: the model.
        store, place: where embeddings are.
        contents: keeps them there.
        produces, consumes: the engine's roles.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        store: ObjectStore,
        place: Place,
        contents: ContentStore,
        produces: bool,
        consumes: bool,
    ) -> None:
        self._model = model
        self._store = store
        self._place = place
        self._contents = contents
        self._produces = produces
        self._consumes = consumes

    def knows(self, mm_hash: str, coordinates: Mapping[str, Any] | None) -> bool:
        """Whether an image without tensors can be loaded."""
        return self._consumes and isinstance((coordinates or {}).get(mm_hash), dict)

    def exchange(
        self,
        hashes: Sequence[str],
        brought: Sequence[bool],
        inputs: dict[str, Any],
        coordinates: Mapping[str, Any] | None,
    ) -> tuple[dict[str, Any], dict[str, Any] | None]:
        """Put encoder outputs in place of the images' pixels.

        Args:
            hashes: of the images, in order.
            brought: which of them came with their pixels; the others are loaded.
            inputs: of the forward pass: the joined pixels of those, and the grids of all.
            coordinates: the request's `ec_transfer_params`.

        Returns:
            The inputs, and what the answer says in `ec_transfer_params`.

        Raises:
            FailedDependency, BadRequest, Unavailable: an embedding cannot be loaded or stored.
        """
        pixels = inputs.pop("pixel_values", None)
        grids = inputs.get("image_grid_thw")
        if grids is not None:
            grids = grids[torch.tensor(brought)]
        encoded = iter(self._encoded(pixels, grids) if pixels is not None else ())
        given = coordinates or {}
        embeddings = [
            next(encoded) if own else self._loaded(mm_hash, given[mm_hash])
            for mm_hash, own in zip(hashes, brought, strict=True)
        ]
        told = None
        if self._produces:
            own = {name: one for name, one, mine in zip(hashes, embeddings, brought, strict=True) if mine}
            told = {
                name: {"item_indices": [at for at, other in enumerate(hashes) if other == name], **self._stored(one)}
                for name, one in own.items()
            }
        return {**inputs, OUTPUTS: {MODALITY: _outputs(embeddings)}}, told

    def _encoded(self, pixels: torch.Tensor, grids: torch.Tensor | None) -> Sequence[Embedding]:
        located = {} if grids is None else {"image_grid_thw": grids}
        with torch.inference_mode():
            output = self._model.base_model.get_image_features(pixels, **located, return_dict=True)
        levels = getattr(output, "deepstack_features", None) or ()
        return [Embedding(pooled, [level[at] for level in levels]) for at, pooled in enumerate(output.pooler_output)]

    def _stored(self, embedding: Embedding) -> dict[str, Any]:
        """Where the embedding is, under the digest of its content."""
        data = embedding.dump()
        name = hashlib.sha256(data).hexdigest()
        address = self._contents.get_or_put(StoredContent("embedding", name, len(embedding.pooled), lambda: data))
        return {"uri": str(address), "size_bytes": len(data)}

    def _loaded(self, mm_hash: str, coordinates: Mapping[str, Any]) -> Embedding:
        address = Address.parse(str(coordinates.get("uri")))
        if not self._place.holds(address):
            raise BadRequest("The embedding is in no place that this engine may read.", "ec_transfer_params")
        try:
            stored = describe(self._store, address, "")
            return Embedding.read(as_bytes(self._store, address, stored, time.monotonic() + LOAD_SECONDS))
        except Gone:
            raise FailedDependency(f"The embedding of {mm_hash} is gone. Encode again.", "ec_transfer_params") from None
        except Flawed as error:
            raise BadRequest(f"The embedding cannot be read: it {error}.", "ec_transfer_params") from None
        except (SafetensorError, KeyError):
            raise BadRequest("The embedding cannot be read: it is none.", "ec_transfer_params") from None


def open_connector(model: PreTrainedModel, server: ServedModel, options: Options) -> ObjectStoreConnector | None:
    """The connector that the flags ask for; None without them.

    Raises:
        ConfigurationError: it is another connector or role, there is no bucket, or the model takes no embeddings.
    """
    config = options.ec_transfer_config
    if not config:
        return None
    role = config.get("ec_role")
    if config.get("ec_connector") != NAME or role not in _ROLES:
        raise ConfigurationError(f"--ec-transfer-config: needs ec_connector {NAME!r} and ec_role {' or '.join(_ROLES)}")
    if not hasattr(model.base_model, "get_image_features"):
        raise ConfigurationError("--ec-transfer-config: this model encodes no images")
    place = embeddings_place(server.settings)
    store = S3Store()
    contents = ContentStore(store, place, server.model.facts.fingerprint, server.settings.reference_days)
    return ObjectStoreConnector(model, store, place, contents, *_ROLES[role])


def embeddings_place(settings: Settings) -> Place:
    """A folder of the references, so that it expires with them."""
    place = place_of(settings)
    return Place(place.bucket, f"{place.prefix}/embeddings".lstrip("/"))


@dataclass
class _Outputs(ModelOutput):  # type: ignore[misc]
    """The embeddings of all images as the model takes them: one entry an image, and one such list a level."""

    pooler_output: list[torch.Tensor]
    deepstack_features: list[list[torch.Tensor]] | None = None


def _outputs(embeddings: Sequence[Embedding]) -> _Outputs:
    levels = zip(*(one.levels for one in embeddings), strict=True)
    return _Outputs([one.pooled for one in embeddings], list(map(list, levels)))
