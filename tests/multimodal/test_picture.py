"""Opening images: what the header tells is what decoding gives; hostile files are refused within bounds."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from PIL import Image, ImageOps

from renderlayer.errors import BadRequest
from renderlayer.multimodal.image.picture import ImageIO, open_picture
from tests.multimodal.images import encoded, hostile, kinds, picture, turned

KINDS = dict(kinds())
HOSTILE = dict(hostile())
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
SECONDS = 2.0
MEMORY = 256 << 20  # bytes of a process that refuses all hostile files


@pytest.mark.parametrize("name", KINDS)
def test_header_agrees_with_pixels(name: str) -> None:
    """Size and the need of conversion, found without pixels, are those of the decoded image."""
    opened = open_picture(KINDS[name], ImageIO())
    decoded = opened.decode()
    assert decoded.size == opened.size
    assert decoded.mode == "RGB"
    with Image.open(_file(KINDS[name])) as image:
        image.load()
        assert opened.converted == (image.mode != "RGB" or image.has_transparency_data)


@pytest.mark.parametrize("name", KINDS)
def test_pixels_are_pillows(name: str) -> None:
    """Upright, first frame, transparency over white."""
    with Image.open(_file(KINDS[name])) as image:
        upright = ImageOps.exif_transpose(image)
        if upright.has_transparency_data:
            rgba = upright.convert("RGBA")
            expected = Image.new("RGB", rgba.size, (255, 255, 255))
            expected.paste(rgba, mask=rgba.getchannel("A"))
        else:
            expected = upright.convert("RGB")
    assert open_picture(KINDS[name], ImageIO()).decode().tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    """A 400 that names the image, in little processor time and memory, for everything that is no image."""
    began = time.process_time()
    if name.startswith("strip"):  # a valid image, refused by the layout of most families
        assert open_picture(HOSTILE[name], ImageIO()).decode().mode == "RGB"
    else:
        with pytest.raises(BadRequest, match=r"Failed to load image: .") as caught:
            open_picture(HOSTILE[name], ImageIO()).decode()
        assert caught.value.status == 400
        assert " at 0x" not in caught.value.message
    assert time.process_time() - began < SECONDS


def test_hostile_files_take_little_memory() -> None:
    """All of them, one after the other in a process of its own; 20,000 × 8,947 claimed pixels would be 537 MB."""
    code = (
        "from tests.multimodal.images import hostile\n"
        "from renderlayer.errors import BadRequest\n"
        "from renderlayer.multimodal.image.picture import ImageIO, open_picture\n"
        "refused = 0\n"
        "for name, data in hostile():\n"
        "    try: open_picture(data, ImageIO()).decode()\n"
        "    except BadRequest: refused += 1\n"
        "peak = next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(refused, peak)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=ENVIRONMENT)
    refused, kilobytes = map(int, done.stdout.split())
    assert refused >= 50
    assert kilobytes << 10 < MEMORY


@pytest.mark.parametrize("form", ["PNG", "JPEG"])
@pytest.mark.parametrize("share", [0.3, 0.7, 0.95])
def test_cut_files_are_noticed_without_decoding(form: str, share: float) -> None:
    data = encoded(picture(200, 150), form)
    with pytest.raises(BadRequest, match="truncated"):
        open_picture(data[: int(len(data) * share)], ImageIO())


def test_a_thumbnail_does_not_hide_a_cut() -> None:
    """The end marker of a thumbnail inside the EXIF segment is not that of the image."""
    thumbnail = encoded(picture(32, 32), "JPEG")
    data = encoded(picture(200, 150), "JPEG", comment=thumbnail)
    open_picture(data, ImageIO())
    with pytest.raises(BadRequest, match="truncated"):
        open_picture(data[: len(data) // 2], ImageIO())


def test_what_may_be_missing_is_not_refused() -> None:
    """The decoder needs neither the end chunk of a PNG nor what follows the image data."""
    data = encoded(picture(40, 30))
    assert open_picture(data[:-12], ImageIO()).decode().size == (40, 30)


def test_background_shows_through() -> None:
    data = encoded(Image.new("RGBA", (4, 4), (10, 20, 30, 0)))
    shown = open_picture(data, ImageIO.parse({"rgba_background_color": [1, 2, 3]})).decode()
    assert shown.getpixel((0, 0)) == (1, 2, 3)


@pytest.mark.parametrize("background", [[1, 2], [1, 2, 256], "white", [1, 2, -1], [0.5, 0, 0]])
def test_bad_backgrounds_are_refused(background: object) -> None:
    with pytest.raises(BadRequest, match="rgba_background_color"):
        ImageIO.parse({"rgba_background_color": background})


def test_image_mode() -> None:
    data = encoded(picture(8, 8, "L"))
    assert open_picture(data, ImageIO.parse({"image_mode": None})).decode().mode == "L"
    assert not open_picture(data, ImageIO.parse({"image_mode": None})).converted
    assert not open_picture(data, ImageIO.parse({"image_mode": "L"})).converted
    with pytest.raises(BadRequest, match="image_mode"):
        ImageIO.parse({"image_mode": "XYZ"})


def test_orientation_swaps_the_sides() -> None:
    assert open_picture(turned(picture(80, 40), 1), ImageIO()).size == (80, 40)
    assert open_picture(turned(picture(80, 40), 6), ImageIO()).size == (40, 80)


def _file(data: bytes) -> object:
    from io import BytesIO

    return BytesIO(data)
