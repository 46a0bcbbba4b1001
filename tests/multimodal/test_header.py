"""Headers read without a library: what is said of a file, however damaged, is what Pillow says of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import ImageCms, PngImagePlugin

from renderlayer.multimodal.image import pillow
from renderlayer.multimodal.image.header import Header, read_header
from tests.multimodal.images import adam7, chunk, encoded, hostile, kinds, picture, turned


def plain() -> Iterator[tuple[str, bytes]]:
    """Files of which the header is read."""
    photo, profile = picture(80, 60), ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    yield "jpeg", encoded(photo, "JPEG")
    yield "jpeg-grey", encoded(photo.convert("L"), "JPEG")
    yield "jpeg-progressive", encoded(photo, "JPEG", progressive=True, optimize=True)
    yield "jpeg-restarts", encoded(photo, "JPEG", restart_marker_blocks=4)
    yield "jpeg-comment", encoded(photo, "JPEG", comment=b"a note", dpi=(300, 300))
    yield "jpeg-profile", encoded(photo, "JPEG", icc_profile=profile)
    yield "jpeg-xmp", encoded(photo, "JPEG", xmp=b"<x:xmpmeta></x:xmpmeta>")
    for orientation in (1, 3, 6, 8):
        yield f"jpeg-turned-{orientation}", turned(photo, orientation)
    yield "jpeg-camera", encoded(photo, "JPEG", exif=camera("<"))
    yield "jpeg-camera-motorola", encoded(photo, "JPEG", exif=camera(">"))
    yield "png", encoded(photo)
    yield "png-grey", encoded(photo.convert("L"))
    yield "png-alpha", encoded(picture(80, 60, "RGBA"))
    yield "png-interlaced", adam7(picture(33, 21))
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Software", "a test")
    yield "png-notes", encoded(photo, pnginfo=notes, dpi=(144, 144))


def camera(order: str) -> bytes:
    """A directory as cameras write it: maker and date outside, the orientation among them."""
    names = {"<": b"II*\x00", ">": b"MM\x00*"}
    entries = [(0x010F, 2, 6, 62), (0x0112, 3, 1, None), (0x011A, 5, 1, 68), (0x0132, 2, 20, 76)]
    body = names[order] + struct.pack(f"{order}IH", 8, len(entries))
    for tag, kind, count, where in entries:
        value = struct.pack(f"{order}HH", 6, 0) if where is None else struct.pack(f"{order}I", where)
        body += struct.pack(f"{order}HHI", tag, kind, count) + value
    body += struct.pack(f"{order}I", 0)
    return b"Exif\x00\x00" + body + b"Maker\x00" + struct.pack(f"{order}II", 72, 1) + b"2026:01:01 00:00:00\x00"


PLAIN = dict(plain())


def by_pillow(data: bytes) -> tuple[Header, bool]:
    image = pillow.opened(data)
    return Header(image.size, image.mode, pillow.orientation(image, data)), image.has_transparency_data


def agree(data: bytes) -> bool:
    """Whether the header was read; fails where Pillow sees another file."""
    header = read_header(data)
    if header is None:
        return False
    assert (header, header.mode == "RGBA") == by_pillow(data)
    return True


@pytest.mark.parametrize("name", PLAIN)
def test_plain_files_are_read(name: str) -> None:
    assert agree(PLAIN[name])


def test_all_files_are_read_as_pillow_does() -> None:
    read = [name for name, data in (*kinds(), *hostile()) if agree(data)]
    assert {"png-RGB", "png-RGBA", "jpeg-RGB", "jpeg-turned-6", "bomb-square"} <= set(read)
    assert not {"png-colour-key", "png-P", "png-I;16", "jpeg-CMYK", "png-turned", "webp", "gif"} & set(read)


@settings(max_examples=600, deadline=None)
@given(st.sampled_from(sorted(PLAIN)), st.data())
def test_damaged_files_are_read_as_pillow_does(name: str, data: Any) -> None:
    """Bytes changed, removed and put in near the beginning, where the header is."""
    file = bytearray(PLAIN[name][:4096])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(2, min(len(file) - 1, 700)))
        match data.draw(st.sampled_from(("set", "cut", "put", "copy"))):
            case "set":
                file[at] = data.draw(st.integers(0, 255))
            case "cut":
                del file[at : at + data.draw(st.integers(1, 40))]
            case "put":
                file[at:at] = data.draw(st.binary(min_size=1, max_size=8))
            case _:
                begin = data.draw(st.integers(2, 300))
                file[at:at] = file[begin : begin + data.draw(st.integers(1, 200))]
        if len(file) < 8:
            return
    agree(bytes(file))


def test_an_orientation_in_xmp_is_left_to_pillow() -> None:
    xmp = b'<rdf:Description tiff:Orientation="6"/>'
    data = encoded(picture(80, 60), "JPEG", xmp=xmp)
    assert read_header(data) is None
    assert by_pillow(data)[0].orientation == 6


def test_an_odd_directory_is_left_to_pillow() -> None:
    """The orientation as a long number."""
    exif = camera("<").replace(struct.pack("<HH", 0x0112, 3), struct.pack("<HH", 0x0112, 4))
    assert read_header(encoded(picture(8, 8), "JPEG", exif=exif)) is None


KINDS = [
    b"IHDR",
    b"IDAT",
    b"sRGB",
    b"gAMA",
    b"cHRM",
    b"pHYs",
    b"bKGD",
    b"tIME",
    b"sBIT",
    b"tEXt",
    b"tRNS",
    b"PLTE",
    b"vpAg",
]
BODIES = st.sampled_from([b"", bytes(1), bytes(4), bytes(9), bytes(32), b"Software\x00x", b"Raw profile type exif\x00"])
HEADERS = st.builds(
    lambda *parts: struct.pack(">IIBBBBB", *parts),
    *[st.integers(0, 3)] * 2,
    st.sampled_from([1, 8, 16]),
    *[st.integers(0, 6)] + [st.integers(0, 1)] * 3,
)


@settings(max_examples=600, deadline=None)
@given(HEADERS, st.lists(st.tuples(st.sampled_from(KINDS), BODIES | HEADERS), max_size=4))
def test_any_chunks_are_read_as_pillow_does(header: bytes, chunks: list[tuple[bytes, bytes]]) -> None:
    parts = [(b"IHDR", header), *chunks, (b"IDAT", b"")]
    agree(b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, body) for kind, body in parts))
