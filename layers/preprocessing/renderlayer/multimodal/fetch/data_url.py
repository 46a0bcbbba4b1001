"""Data URLs: `data:[mime][;params];base64,<data>` with a strict alphabet (wire.md 4.2)."""

from __future__ import annotations

from binascii import Error as Base64Error

from renderlayer.errors import BadRequest, NotImplementedHere
from renderlayer.multimodal.items import EncodedMedia
from renderlayer.settings import Settings

FRAME_LIST = "video/jpeg"
_UNDECODABLE = frozenset({"image/svg+xml", "image/svg", "application/pdf", "text/html"})


def split(url: str) -> tuple[str, str]:
    """(media type in lower case, base64 text) of a data URL; the words before the comma may come in any case and order.

    Raises:
        BadRequest: there is no comma, or no decoder takes the type.
        NotImplementedHere: no parameter says `base64`.
    """
    comma = url.find(",")
    if comma < 0:
        raise BadRequest("Invalid data URL: missing ',' separator.")
    kind, *parameters = url[len("data:") : comma].lower().split(";")
    if kind.strip() in _UNDECODABLE:
        raise BadRequest(f"Media of type {kind.strip()} cannot be decoded: send pixels, such as PNG or JPEG.")
    if "base64" not in (parameter.strip() for parameter in parameters):
        raise NotImplementedHere("Only base64 data URLs are supported for now.")
    return kind.strip(), url[comma + 1 :]


def decode(url: str, most: int) -> EncodedMedia:
    """The content of a data URL; a list of JPEG frames stays the text that it is.

    Args:
        most: bytes that an item may have.

    Raises:
        BadRequest: malformed, or more than an item may have.
        NotImplementedHere: not base64.
    """
    media_type, text = split(url)
    if media_type == FRAME_LIST:
        _check_size(text, most)
        return EncodedMedia(text.encode(), media_type)
    return EncodedMedia(decode_base64(text, most), media_type)


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
        raise BadRequest(f"Invalid base64 data: {_fault(text) or error}") from error


def _fault(text: str) -> str:
    """What is wrong with a text that is not base64, where it is a common mistake."""
    if any(character.isspace() for character in text):
        return "it holds white space, such as the line breaks of wrapped base64; send it in one piece."
    if "-" in text or "_" in text:
        return "it is in the alphabet for URLs; use the standard one, with + and /."
    if len(text) % 4:
        return "its length is no multiple of 4; pad it with '='."
    return ""


def _check_size(text: str, most: int) -> None:
    if len(text) // 4 * 3 > most:
        raise BadRequest(f"Media in data URLs may have at most {most} bytes.")
