"""Data URLs: `data:[mime][;params];base64,<data>` with a strict alphabet (wire.md 4.2)."""

from __future__ import annotations

from binascii import Error as Base64Error

from renderlayer.errors import BadRequest, NotImplementedHere
from renderlayer.multimodal.items import Content
from renderlayer.settings import Settings

FRAME_LIST = "video/jpeg"


def split(url: str) -> tuple[str, str]:
    """(media type, base64 text) of a data URL.

    Raises:
        BadRequest: there is no comma.
        NotImplementedHere: the last parameter is not exactly `base64`.
    """
    comma = url.find(",")
    if comma < 0:
        raise BadRequest("Invalid data URL: missing ',' separator.")
    kind, semicolon, encoding = url[len("data:") : comma].rpartition(";")
    if encoding != "base64" or not semicolon:
        raise NotImplementedHere("Only base64 data URLs are supported for now.")
    return kind.partition(";")[0], url[comma + 1 :]


def decode(url: str, most: int) -> Content:
    """The content of a data URL; a list of JPEG frames stays the text that it is.

    Args:
        most: bytes that an item may have.

    Raises:
        BadRequest: malformed, or more than an item may have.
        NotImplementedHere: not base64.
    """
    kind, text = split(url)
    media_type = kind.lower()
    if media_type == FRAME_LIST:
        _check_size(text, most)
        return Content(text.encode(), media_type)
    return Content(decode_base64(text, most), media_type)


def decode_base64(text: str, most: int = Settings.max_media_item_bytes) -> bytes:
    """Strict base64: no white space, padded.

    Args:
        most: bytes that the text may stand for.

    Raises:
        BadRequest: it is not base64, or longer.
    """
    from pybase64 import b64decode

    _check_size(text, most)
    try:
        return b64decode(text, validate=True)
    except (Base64Error, ValueError) as error:
        raise BadRequest(str(error)) from error


def _check_size(text: str, most: int) -> None:
    if len(text) // 4 * 3 > most:
        raise BadRequest(f"Media in data URLs may have at most {most} bytes.")
