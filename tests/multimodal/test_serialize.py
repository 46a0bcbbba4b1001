"""MessagePack items: the worked example, an independent decoder, canonical bytes (wire.md 4.7, 4.8)."""

from __future__ import annotations

import base64
from typing import Any

import msgpack
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from renderlayer.multimodal.tensor import Field, Tensor, int64
from renderlayer.multimodal.wire.serialize import pack_item

GRID = Field(int64([1, 2, 2]), "batched", keep_on_cpu=True)
EXAMPLE = (
    "gqxwaXhlbF92YWx1ZXOCpGRhdGGTqGJmbG9hdDE2kgQC2AMAAIA/AEBAQIBAoEDAQOBApWZpZWxkkqRmbGF0g6trZWVwX29uX2NwdcKmc2xpY2Vz"
    "kZGTAATAo2RpbQCuaW1hZ2VfZ3JpZF90aHeCpGRhdGGTpWludDY0kQPHGAMBAAAAAAAAAAIAAAAAAAAAAgAAAAAAAAClZmllbGSSp2JhdGNoZWSB"
    "q2tlZXBfb25fY3B1ww=="
)


def test_the_worked_example() -> None:
    pixels = Tensor("bfloat16", (4, 2), bytes.fromhex("0000803f004040408040a040c040e040"))
    packed = pack_item({"pixel_values": Field(pixels, "flat"), "image_grid_thw": GRID})
    assert base64.b64encode(packed).decode() == EXAMPLE


def test_metadata_alone() -> None:
    expected = (
        "ga5pbWFnZV9ncmlkX3Rod4KkZGF0YZOlaW50NjSRA8cYAwEAAAAAAAAAAgAAAAAAAAACAAAAAAAAAKVmaWVsZJKnYmF0Y2hlZIGra2VlcF9v"
        "bl9jcHXD"
    )
    assert base64.b64encode(pack_item({"image_grid_thw": GRID})).decode() == expected


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4, 8, 15, 16, 17, 255, 256, 65_535, 65_536, 1 << 20])
def test_raw_bytes_of_every_size(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    packed = pack_item({"x": Field(Tensor("uint8", (size,), memoryview(data)[:size]), "flat")})
    dtype, shape, raw = _decoded(packed)["x"]["data"]
    assert (dtype, shape, raw.code, raw.data) == ("uint8", [size], 3, data[:size])


def test_no_dimension() -> None:
    assert _decoded(pack_item({"x": Field(int64(3), "batched")}))["x"]["data"][1] == []


def test_slices_reach_the_dimension() -> None:
    field = Field(Tensor("uint8", (2, 5, 3), bytes(30)), "flat", dim=1)
    described = _decoded(pack_item({"x": field}))["x"]["field"]
    assert described == ["flat", {"keep_on_cpu": False, "slices": [[[None, None, None], [0, 5, None]]], "dim": 1}]


def test_shared_fields() -> None:
    described = _decoded(pack_item({"x": Field(7, "shared")}))["x"]
    assert described == {"data": 7, "field": ["shared", {"keep_on_cpu": False, "batch_size": 1}]}


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError):
        pack_item({"x": Field({1, 2}, "batched")})
    with pytest.raises(OverflowError):
        pack_item({"x": Field(1 << 64, "batched")})


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=20),
    max_leaves=20,
)


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(max_size=40), PLAIN, max_size=20))
def test_plain_values_come_back(values: dict[str, Any]) -> None:
    packed = pack_item({name: Field(value, "batched") for name, value in values.items()})
    assert {name: field["data"] for name, field in _decoded(packed).items()} == values


def _decoded(packed: bytes) -> Any:
    return msgpack.unpackb(packed, strict_map_key=False)
