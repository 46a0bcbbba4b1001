"""What a stream carries between two calls beside the reference's own fields: the `resume` string of the stream state.

It holds all that the first chunk decided, so that later chunks need not bring the prompt and the request again: the
request's options and, where a parser reads the answer, the parser's state and the detokenizer's window. Its form is

    1.<base64url of a 6-byte digest and deflated JSON>

The digest covers the model and its parsers. It tells a damaged or a foreign string from one of ours; it is no
signature, so what is inside is checked as any input is.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, TypeVar

from pydantic import Field, ValidationError

from renderlayer.derender.core.custom_input import LONGEST_REST, OTHER
from renderlayer.derender.core.options import NO_REQUEST, Options
from renderlayer.errors import BadRequest
from renderlayer.served_model import ServedModel
from renderlayer.wire.common.base import Body
from renderlayer.wire.common.json_text import compact, read
from renderlayer.wire.derender import RESUME_LENGTH, WINDOW_PIECES, NonNegative, SampledIds

VERSION = "1."
DIGEST_BYTES = 6
INFLATED_BYTES = 2 << 20
# What states mostly say, for the compressor to point at. Part of the form: to change it is to change VERSION.
_KNOWN = (
    b'"forced":true,"named":true,"parallel":false,"include_reasoning":false,"return_token_ids":true,"candidates":0,'
    b'"types":{"string","integer","number","boolean","object","array"},"required","native","before","content","pass",'
    b'{"options":{"skip_special":false,"keep_calls":true},"tokens":1,"window":[],"read":1,"parser":{"v":1,'
    b'"parser":"hermes+qwen3","mode":"native","types":null,"calls":[0,false,":0",0],'
    b'"tools":["content","","",false,[0,0,false,false],false],"reasoning":["inside",""]}}'
)

_Phase = Annotated[int, Field(ge=0, le=OTHER)]


class Resume(Body):
    """The inside of a resume string.

    Attributes:
        tokens: prompt and output tokens so far; only counted where a parser is configured.
        window, read: the detokenizer's window as token ids, and how many of them have been emitted.
        parser: the parser's state; None where none is configured.
        sampled: the prompt's digest and all output, where the request wants the digest of both.
        open_call: a chat's call of a custom tool whose input is being told.
    """

    options: Options = NO_REQUEST
    tokens: NonNegative = 0
    window: Annotated[list[int], Field(max_length=WINDOW_PIECES)] = Field(default_factory=list)
    read: NonNegative = 0
    parser: dict[str, Any] | None = None
    sampled: SampledIds | None = None
    open_call: tuple[NonNegative, _Phase, Annotated[str, Field(max_length=LONGEST_REST)]] | None = None


R = TypeVar("R", bound=Resume)


def encode_stream_state(inside: Mapping[str, Any], endpoint: str, server: ServedModel) -> str:
    """The string for a stream state.

    Args:
        inside: the fields of a `Resume`; those at their default may be left out.
        endpoint: "chat" or "completion"; a string of one is refused by the other.

    Raises:
        BadRequest: the string would be too long, because what the parser must know of the tools is.
    """
    deflate = zlib.compressobj(wbits=-15, zdict=_KNOWN)
    packed = deflate.compress(compact(inside)) + deflate.flush()
    text = VERSION + _spelled(_digest(packed, endpoint, server) + packed)
    if len(text) > RESUME_LENGTH:
        raise BadRequest("The tools are too large for a stream of single calls: send the whole stream in one call.")
    return text


def decode_stream_state(text: str, endpoint: str, server: ServedModel) -> Resume:
    """The inverse of `encode_stream_state` for chat and completions; errors as `unseal_as`."""
    return unseal_as(Resume, text, endpoint, server)


def unseal_as(form: type[R], text: str, endpoint: str, server: ServedModel) -> R:
    """The inverse of `encode_stream_state`.

    Args:
        form: what was sealed.

    Raises:
        BadRequest: the string is damaged, or was made for another model, endpoint or version.
    """
    if not text.startswith(VERSION):
        raise BadRequest("invalid stream_state: resume has an unknown form")
    raw = _read(text[len(VERSION) :])
    digest, packed = raw[:DIGEST_BYTES], raw[DIGEST_BYTES:]
    if digest != _digest(packed, endpoint, server):
        raise BadRequest("invalid stream_state: resume is damaged, or was made for another model or endpoint")
    return _inside(packed, form)


def _spelled(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _read(coded: str) -> bytes:
    try:
        raw = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4))
    except ValueError:
        raw = b""
    if _spelled(raw) != coded:
        raise BadRequest("invalid stream_state: resume is damaged")
    return raw


def _inside(packed: bytes, form: type[R]) -> R:
    inflate = zlib.decompressobj(wbits=-15, zdict=_KNOWN)
    try:
        inside = inflate.decompress(packed, INFLATED_BYTES)
        return form.model_validate(read(inside))
    except (zlib.error, ValueError, RecursionError, ValidationError):
        raise BadRequest("invalid stream_state: resume is malformed") from None


def _digest(packed: bytes, endpoint: str, server: ServedModel) -> bytes:
    key = _key(endpoint, server.model.facts.fingerprint, *server.parsers)
    return hashlib.blake2b(packed, digest_size=DIGEST_BYTES, key=key).digest()


@lru_cache(maxsize=16)
def _key(*made_for: str) -> bytes:
    return hashlib.blake2b("\0".join(made_for).encode(), digest_size=32).digest()
