"""Embeddings that clients computed: read safely, hashed as tensors, laid out."""

from __future__ import annotations

import base64
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from io import BytesIO
from typing import Any

import msgpack
import numpy as np
import pytest
from blake3 import blake3

from renderlayer import multimodal
from renderlayer.bundle import Model
from renderlayer.errors import BadRequest
from renderlayer.multimodal import MediaItem
from renderlayer.multimodal.wire.embeds import read_embeds, read_tensor
from renderlayer.settings import Settings

SETTINGS = Settings(model="m", enable_mm_embeds=True)
MOST = 1 << 20


def npy(array: Any) -> bytes:
    buffer = BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("dtype", ["float16", "float32", "int32", "int64", "uint8", "bool"])
def test_npy(dtype: str) -> None:
    array = np.arange(6).reshape(2, 3).astype(dtype)
    tensor = read_tensor(npy(array), MOST)
    assert (tensor.dtype, tensor.shape, tensor.content()) == (dtype, (2, 3), array.tobytes())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int32", "int64", "uint8", "bool"])
def test_torch_archives(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.arange(12).reshape(4, 3).to(getattr(torch, dtype))
    for saved in (tensor, tensor[1:3], tensor.requires_grad_(tensor.is_floating_point())):
        buffer = BytesIO()
        torch.save(saved, buffer)
        read = read_tensor(buffer.getvalue(), MOST)
        assert (read.dtype, read.shape) == (dtype, tuple(saved.shape))
        assert read.content() == saved.detach().contiguous().view(torch.uint8).numpy().tobytes()


class Evil:
    def __reduce__(self) -> Any:
        return print, ("run",)


def archive(pickled: bytes, **storages: bytes) -> bytes:
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr("a/data.pkl", pickled)
        for key, data in storages.items():
            file.writestr(f"a/data/{key}", data)
    return buffer.getvalue()


def saved(shape: bytes, times: int = 1) -> bytes:
    """The pickle of a tensor as torch writes it, rebuilt so many times; `shape` is the pickle of its shape."""
    storage = b"((X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x10tQ"
    return (b"ctorch._utils\n_rebuild_tensor_v2\n" + storage + b"K\x00" + shape + b"K\x01\x85\x89)tR") * times + b"."


def test_a_storage_that_is_named_often_is_read_once() -> None:
    """A small archive of much air, whose pickle asks for it a thousand times."""
    buffer = BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a/data.pkl", saved(b"J\x00\x00\x80\x00\x85", times=500))
        file.writestr("a/data/0", bytes(32 << 20))
    tracemalloc.start()
    try:
        assert read_tensor(buffer.getvalue(), 64 << 20).shape == (8 << 20,)
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        pickle.dumps(Evil()),
        archive(pickle.dumps(Evil())),
        archive(pickle.dumps([1, 2])),
        archive(b"cos\nsystem\n(S'true'\ntR."),
        b"\x93NUMPY\x01\x00\x10\x00{'descr': '|O'}\n",
        npy(np.zeros(4, ">f4")),
        npy(np.zeros((2, 3), order="F")),
        npy(np.zeros(4, np.float32))[:-4],
        b"\x93NUMPY\x01\x00\x30\x00{'descr': __import__('os').system('true')}       \n",
        b"\x93NUMPY\x01\x00\xff\xff" + b"{'shape': (" + b"9," * 30_000 + b")}",
        archive(b"Nr\xff\xff\xff\x7f0N."),  # an entry of the memo for which 16 GB would be allotted
        archive(b"N." + bytes(1 << 16)),
        archive(saved(b"(" + b"\x8a\x7f" + b"\x7f" * 127 + b"q\x01" + b"h\x01" * 20_000 + b"t"), **{"0": bytes(64)}),
        archive(saved(b"K\x10\x85"), **{"0": bytes(MOST)}),
    ],
)
def test_anything_else_is_refused(data: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(BadRequest):
        read_tensor(data, MOST)
    assert capsys.readouterr().out == ""


def test_sparse_and_strided_tensors_are_refused() -> None:
    torch = pytest.importorskip("torch")
    for tensor in (torch.eye(3).to_sparse(), torch.arange(6).reshape(2, 3).T, {"a": torch.eye(2)}):
        buffer = BytesIO()
        torch.save(tensor, buffer)
        with pytest.raises(BadRequest):
            read_tensor(buffer.getvalue(), MOST)


def deep(levels: int) -> Any:
    return [deep(levels - 1)] if levels else 1


def test_objects_hold_tensors_and_numbers() -> None:
    tensors = read_embeds(
        {"image_embeds": text(npy(np.zeros((4, 8), np.float32))), "image_grid_thw": [[1, 4, 4]]}, MOST
    )
    assert tensors["image_grid_thw"].shape == (1, 3)
    fields: list[Any] = [1.5, [[1], [1, 2]], [], True, [2**63], deep(900)]
    for wrong in (None, 5, {}, *({"x": field} for field in fields)):
        with pytest.raises(BadRequest):
            read_embeds(wrong, MOST)


def item(payload: Any, uuid: str | None = None) -> MediaItem:
    return MediaItem("image", {"type": "image_embeds", "image_embeds": payload}, uuid)


def test_qwen_takes_embeddings_with_their_grid(qwen: Model) -> None:
    values = np.ones((4, 8), np.float32)
    payload = {"image_embeds": text(npy(values)), "image_grid_thw": text(npy(np.array([1, 4, 4])))}
    ids = qwen.tokenizer.encode("<|vision_start|><|image_pad|><|vision_end|>")
    features = multimodal.apply(qwen, SETTINGS, ids, [item(payload)]).features
    assert features["mm_placeholders"]["image"] == [{"offset": 1, "length": 4}]
    fields = msgpack.unpackb(base64.b64decode(features["kwargs_data"]["image"][0]))
    assert fields["image_embeds"]["data"][:2] == ["float32", [4, 8]]
    assert fields["image_embeds"]["data"][2].data == values.tobytes()
    assert fields["image_grid_thw"]["field"] == ["batched", {"keep_on_cpu": True}]
    for wrong in (text(npy(values)), {"image_embeds": text(npy(values))}, {**payload, "image_grid_thw": [1, 2]}):
        with pytest.raises(BadRequest):
            multimodal.apply(qwen, SETTINGS, ids, [item(wrong)])


def test_llava_takes_bare_embeddings(make_model: Callable[..., Model]) -> None:
    model = make_model("llava", ("<image>",), {})
    token = model.vocabulary.id_of("<image>")
    values = np.ones((1, 5, 8), np.float16)
    ids = model.tokenizer.encode("a<image>b")
    expanded = multimodal.apply(model, SETTINGS, ids, [item(text(npy(values)))])
    assert expanded.token_ids.count(token) == 5
    assert expanded.features["mm_metadata"] is None

    def frame(data: bytes) -> bytes:
        return len(data).to_bytes(8, "little") + data

    shape = b"\x01" + (3).to_bytes(8, "little")
    shape += b"".join(b"\x03" + frame(size.to_bytes(8, "little")) for size in (1, 5, 8))
    array = b"\x02" + (3).to_bytes(8, "little") + frame(b"dtype") + b"\x03" + frame(b"<f2")
    array += frame(b"shape") + shape + frame(b"data") + b"\x03" + frame(values.tobytes())
    stream = frame(b"image") + b"\x03" + frame(b"tensor") + b"\x03" + frame(b"ndarray") + array
    stream += frame(b"model_id") + b"\x03" + frame(b"m")
    assert expanded.features["mm_hashes"]["image"] == [blake3(stream).hexdigest()]
    with pytest.raises(BadRequest, match="one tensor of shape"):
        multimodal.apply(model, SETTINGS, ids, [item(text(npy(np.ones((2, 5, 8), np.float16))))])


def test_embeddings_without_data(qwen: Model) -> None:
    ids = qwen.tokenizer.encode("<|image_pad|>")
    with pytest.raises(BadRequest, match="Cache miss for image at index 0"):
        multimodal.apply(qwen, SETTINGS, ids, [item(None, "unknown")])
    with pytest.raises(BadRequest, match="is missing") as caught:
        multimodal.apply(qwen, SETTINGS, ids, [item(None)])
    assert caught.value.param == "multi_modal_uuids"
