"""Embeddings that clients computed: `.npy` files and `torch.save` archives, read without running what is in them.

A torch archive is a zip of a pickle and raw storages. Of the pickle only the calls that rebuild a dense tensor are
known here; anything else, and every sparse tensor, is refused (wire.md 4.1). Neither form takes more memory than a few
times the bytes that an item may have: headers, pickles and shapes are bounded, and storages are read once.
"""

from __future__ import annotations

import ast
import pickle
import pickletools
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import prod
from typing import Any

from renderlayer.errors import BadRequest
from renderlayer.multimodal.fetch.data_url import decode_base64
from renderlayer.multimodal.tensor import Tensor

_NPY = b"\x93NUMPY"
_MOST_HEADER = 10_000  # bytes of a .npy header, which is a literal that Python parses
_MOST_PICKLE = 1 << 16  # bytes of an archive's pickle
_MOST_AXES, _LONGEST_AXIS = 8, 1 << 40
_SPARSE_MEMO = frozenset({"PUT", "LONG_BINPUT"})  # may name an entry far away, up to which memory is allotted
_NPY_DTYPES = {"<f2": "float16", "<f4": "float32", "<i4": "int32", "<i8": "int64", "|u1": "uint8", "|b1": "bool"}
_STORAGES = {
    "FloatStorage": ("float32", 4),
    "HalfStorage": ("float16", 2),
    "BFloat16Storage": ("bfloat16", 2),
    "LongStorage": ("int64", 8),
    "IntStorage": ("int32", 4),
    "ByteStorage": ("uint8", 1),
    "BoolStorage": ("bool", 1),
}


def read_embeds(payload: Any, most: int) -> dict[str, Tensor]:
    """The tensors of an embeds part: one under "", or those of an object by their names.

    Args:
        most: bytes that a tensor may have.

    Raises:
        BadRequest: neither form, or content that is no dense tensor.
    """
    if isinstance(payload, str):
        return {"": read_tensor(decode_base64(payload, most), most)}
    if isinstance(payload, Mapping) and payload:
        return {str(name): _entry(value, most) for name, value in payload.items()}
    raise BadRequest("Embeddings must be a base64 string or an object of base64 strings.")


def read_tensor(data: bytes, most: int) -> Tensor:
    """A dense tensor of at most so many bytes from a file.

    Raises:
        BadRequest: it holds something else.
    """
    try:
        return _checked(_npy(data) if data.startswith(_NPY) else _torch(data, most))
    except BadRequest:
        raise
    except Exception as error:
        raise BadRequest("Embeddings must be a .npy file or a dense tensor saved with torch.save.") from error


def _entry(value: Any, most: int) -> Tensor:
    if isinstance(value, str):
        return read_tensor(decode_base64(value, most), most)
    shape, flat = _nested(value)
    try:
        return Tensor("int64", shape, struct.pack(f"<{len(flat)}q", *flat))
    except struct.error as error:
        raise BadRequest("Metadata of embeddings must be integers of 64 bits.") from error


def _nested(value: Any, axes: int = _MOST_AXES) -> tuple[tuple[int, ...], list[int]]:
    """Shape and numbers of nested lists of integers, as metadata may be written."""
    if isinstance(value, int) and not isinstance(value, bool):
        return (), [value]
    if not isinstance(value, list) or not value or not axes:
        raise BadRequest("Metadata of embeddings must be integers or lists of them.")
    parts = [_nested(entry, axes - 1) for entry in value]
    if any(shape != parts[0][0] for shape, _ in parts):
        raise BadRequest("Metadata of embeddings must not be ragged.")
    return (len(parts), *parts[0][0]), [number for _, numbers in parts for number in numbers]


def _npy(data: bytes) -> Tensor:
    """NumPy's format 1.0 to 3.0: magic, version, length, a literal dictionary, the array."""
    wide = data[6] > 1
    begin = 12 if wide else 10
    end = begin + int.from_bytes(data[8:begin], "little")
    if end > _MOST_HEADER:
        raise BadRequest("The header of the .npy file is too long.")
    described = ast.literal_eval(data[begin:end].decode("latin-1"))
    shape = _shape(described["shape"])
    dtype = _NPY_DTYPES.get(described["descr"])
    if dtype is None or (described["fortran_order"] and len(shape) > 1):
        raise BadRequest("Embeddings in .npy form must be little-endian numbers in C order.")
    width = int(described["descr"][2:])
    return Tensor(dtype, shape, _exactly(memoryview(data)[end:], prod(shape) * width))


@dataclass(frozen=True)
class _Storage:
    dtype: str
    width: int
    data: bytes


class _Reader(pickle.Unpickler):
    """Knows the names that a saved tensor needs, and no others."""

    def __init__(self, pickled: bytes, archive: zipfile.ZipFile, root: str) -> None:
        super().__init__(BytesIO(pickled))
        self._archive = archive
        self._root = root
        self._read: dict[str, bytes] = {}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuilt
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module == "torch" and name in _STORAGES:
            return name
        raise BadRequest("Embeddings must be a dense tensor saved with torch.save.")

    def persistent_load(self, pid: Any) -> _Storage:
        _, kind, key, _, _ = pid
        dtype, width = _STORAGES[kind]
        if key not in self._read:
            self._read[key] = self._archive.read(f"{self._root}/data/{key}")
        return _Storage(dtype, width, self._read[key])


def _rebuilt(storage: _Storage, offset: int, sizes: Sequence[int], stride: Sequence[int], *_: Any) -> Tensor:
    shape = _shape(sizes)
    expected, dense = 1, []
    for size in reversed(shape):
        dense.append(expected)
        expected *= size
    if any(size > 1 and own != want for size, own, want in zip(shape, stride, reversed(dense), strict=True)):
        raise BadRequest("Embeddings must be contiguous.")
    begin = offset * storage.width
    return Tensor(storage.dtype, shape, _exactly(memoryview(storage.data)[begin:], prod(shape) * storage.width))


def _torch(data: bytes, most: int) -> Tensor:
    with zipfile.ZipFile(BytesIO(data)) as archive:
        if sum(entry.file_size for entry in archive.infolist()) > most:
            raise BadRequest(f"Embeddings may have at most {most} bytes.")
        (entry,) = [entry for entry in archive.infolist() if entry.filename.endswith("/data.pkl")]
        if entry.file_size > _MOST_PICKLE:
            raise BadRequest("Embeddings must be one tensor.")
        pickled = archive.read(entry)
        if any(opcode.name in _SPARSE_MEMO for opcode, _, _ in pickletools.genops(pickled)):
            raise BadRequest("Embeddings must be a dense tensor saved with torch.save.")
        tensor = _Reader(pickled, archive, entry.filename.removesuffix("/data.pkl")).load()
    if not isinstance(tensor, Tensor):
        raise BadRequest("Embeddings must be one tensor.")
    return tensor


def _checked(tensor: Tensor) -> Tensor:
    """The tensor, if its parts fit together: a crafted archive may have tampered with them."""
    shape, data = _shape(tensor.shape), tensor.content()
    width = next(width for dtype, width in _STORAGES.values() if dtype == tensor.dtype)
    if prod(shape) * width != len(data):
        raise BadRequest("The tensor's shape does not fit its data.")
    return Tensor(tensor.dtype, shape, bytes(data))


def _shape(sizes: Sequence[int]) -> tuple[int, ...]:
    if len(sizes) > _MOST_AXES or not all(isinstance(size, int) and 0 <= size < _LONGEST_AXIS for size in sizes):
        raise BadRequest("The tensor's shape is not one of embeddings.")
    return tuple(sizes)


def _exactly(data: memoryview, size: int) -> memoryview:
    if len(data) < size:
        raise BadRequest("The tensor's data are cut short.")
    return data[:size]
