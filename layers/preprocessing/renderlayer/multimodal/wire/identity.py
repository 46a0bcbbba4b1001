"""mm_hash: the name under which routers and engines know an item (wire.md 4.4).

The bytes hashed are those of a keyword map in sorted key order; every string and every blob is framed by its length,
so that no two maps share a byte stream.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from renderlayer.multimodal.tensor import Tensor

_MODALITY_SECTIONS = {"image": "images_kwargs", "video": "videos_kwargs", "audio": "audio_kwargs"}

_NUMPY = {
    "float32": "<f4",
    "float16": "<f2",
    "int64": "<i8",
    "int32": "<i4",
    "uint8": "|u1",
    "bool": "|b1",
}

Update = Callable[[bytes | memoryview], Any]


@dataclass(frozen=True)
class Loaded:
    """An item decoded from encoded bytes.

    Args:
        kind: "image" or "video".
        data: the encoded bytes, or the decoded frames where those are smaller.
        io_config: the options of a conversion that took place, None when there was none.
    """

    kind: str
    data: Any
    io_config: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Array:
    """A numpy array: dtype string such as "<f4", shape, C-order bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes | memoryview


@dataclass(frozen=True)
class Identity:
    """What enters the hashes of one request beside the items.

    Args:
        algorithm: "blake3", "sha256" or "sha512".
        model_id: the model as the server was given it.
        media_io_kwargs, mm_processor_kwargs: those of the request, not of the server.
    """

    algorithm: str
    model_id: str
    media_io_kwargs: Mapping[str, Any]
    mm_processor_kwargs: Mapping[str, Any]

    def of(self, modality: str, item: Any, uuid: str | None) -> str:
        """The item's hash in hex; a uuid stands in for the content, alone when no options change the outcome."""
        options = self._options(modality)
        if uuid is not None and not options:
            return uuid
        return self._hash({"model_id": self.model_id, modality: uuid if uuid is not None else item, **options})

    def beside(self, mm_hash: str, hash_context: Mapping[str, Any]) -> str:
        """The hash of an item whose tensors also depend on what it stands beside."""
        return self._hash({"mm_hash": mm_hash, **hash_context}) if hash_context else mm_hash

    def _hash(self, entries: Mapping[str, Any]) -> str:
        hasher = _hasher(self.algorithm)
        for key in sorted(entries):
            _frame(hasher.update, key.encode())
            _value(hasher.update, entries[key])
        return str(hasher.hexdigest())

    def _options(self, modality: str) -> dict[str, Any]:
        io = {modality: self.media_io_kwargs.get(modality)}
        foreign = set(_MODALITY_SECTIONS.values()) - {_MODALITY_SECTIONS[modality]}
        processor = {key: value for key, value in self.mm_processor_kwargs.items() if key not in foreign}
        options = {"media_io_kwargs": io if io[modality] else None, "mm_processor_kwargs": processor}
        return {key: value for key, value in options.items() if value}


def _hasher(algorithm: str) -> Any:
    if algorithm != "blake3":
        return hashlib.new(algorithm)
    from blake3 import blake3

    return blake3()


def _frame(update: Update, data: bytes | memoryview) -> None:
    update(struct.pack("<Q", data.nbytes if isinstance(data, memoryview) else len(data)))
    update(data)


def _value(update: Update, value: Any) -> None:
    if value is None:
        update(b"\x00")
    elif isinstance(value, (list, tuple)):
        update(b"\x01" + struct.pack("<Q", len(value)))
        for entry in value:
            _value(update, entry)
    elif isinstance(value, Mapping):
        update(b"\x02" + struct.pack("<Q", len(value)))
        for key, entry in value.items():
            _frame(update, str(key).encode())
            _value(update, entry)
    else:
        update(b"\x03")
        _leaf(update, value)


def _leaf(update: Update, value: Any) -> None:
    if isinstance(value, (bytes, memoryview)):
        _frame(update, value)
    elif isinstance(value, str):
        _frame(update, value.encode())
    elif isinstance(value, bool):
        _frame(update, struct.pack("<?", value))
    elif isinstance(value, int):
        _frame(update, value.to_bytes(max(8, (value.bit_length() + 8) // 8), "little", signed=True))
    elif isinstance(value, float):
        _frame(update, struct.pack("<d", value))
    elif isinstance(value, Loaded):
        _frame(update, value.kind.encode())
        plain = value.io_config is None
        _value(update, value.data if plain else {"io_config": value.io_config, "data": value.data})
    elif isinstance(value, Array):
        _frame(update, b"ndarray")
        _value(update, {"dtype": value.dtype, "shape": value.shape, "data": value.data})
    elif isinstance(value, Tensor):
        _frame(update, b"tensor")
        _value(update, _as_array(value))
    else:
        raise TypeError(f"{type(value).__name__} has no hash")


def _as_array(tensor: Tensor) -> Any:
    """A tensor as the numpy array that stands for it; bfloat16, which numpy lacks, as bytes with a description."""
    data = bytes(tensor.content())
    if tensor.dtype != "bfloat16":
        return Array(_NUMPY[tensor.dtype], tensor.shape, data)
    raw = Array("|u1", (len(data),), data)
    return {"original_dtype": "torch.bfloat16", "original_shape": tensor.shape, "data": raw}
