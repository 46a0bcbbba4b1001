"""Answers as ASGI applications: whole, of an error, or in pieces.

Starlette's `Response` would do for the first, but its import takes a tenth of a cold start.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from renderlayer.errors import NotImplementedHere, RenderLayerError
from renderlayer.http.execution.work import in_function
from renderlayer.wire.common.json_text import dumped_fast, dumped_lenient, unencodable

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

JSON = "application/json"
EVENT_STREAM = "text/event-stream"
ANTHROPIC = ("/v1/messages", "/v1/messages/count_tokens")
"""Paths whose errors have Anthropic's form; those of render have OpenAI's, as the reference's have."""
FORESEEN = (RenderLayerError, UnicodeEncodeError, ModuleNotFoundError)
"""What endpoints raise about a request, or about what is not installed; everything else is a fault of ours."""
LARGE = 64 << 10
"""Characters from which a payload is spliced."""
_PATH = ("features", "kwargs_data")
_SLICE = 1 << 20

logger = logging.getLogger("renderlayer")


class Response:
    """A whole answer.

    Args:
        body: its bytes.
        status_code: its status.
        media_type: its Content-Type, to which text adds its charset; None: none is told.

    Attributes:
        headers: by name, in lower case.
    """

    def __init__(self, body: bytes = b"", status_code: int = 200, media_type: str | None = None) -> None:
        self.body = body
        self.status_code = status_code
        self.headers = {"content-length": str(len(body))}
        self.headers |= content_type(media_type)

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers as ASGI has them."""
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self.headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


def content_type(media_type: str | None) -> dict[str, str]:
    """The header of a media type."""
    if media_type is None:
        return {}
    return {"content-type": f"{media_type}; charset=utf-8" if media_type.startswith("text/") else media_type}


def json_response(content: bytes, status: int = 200) -> Response:
    """An answer that is JSON already."""
    return Response(content, status, media_type=JSON)


def in_anthropics_form(path: str) -> bool:
    """Whether the errors of a path have Anthropic's form."""
    return path.rstrip("/").endswith(ANTHROPIC)


def error_response(error: RenderLayerError, in_anthropics_form: bool = False) -> Response:
    """The answer that an error becomes."""
    body = error.anthropic_body() if in_anthropics_form else error.body()
    response = json_response(dumped_lenient(body), error.status)
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        response.headers["retry-after"] = str(retry_after)
    return response


def answer_to(error: RenderLayerError | UnicodeEncodeError | ModuleNotFoundError, path: str) -> Response:
    """The answer to a request on `path` that raised one of `FORESEEN`."""
    if isinstance(error, UnicodeEncodeError):
        error = unencodable(error)
    elif isinstance(error, ModuleNotFoundError):
        error = _not_installed(error)
    return error_response(error, in_anthropics_form(path))


def _not_installed(error: ModuleNotFoundError) -> NotImplementedHere:
    """The answer to a request that needs one of the optional packages, or a module that a broken build left out."""
    logger.error("the Python package %s is not installed", error.name)
    if str(error.name).partition(".")[0] == "renderlayer":
        return NotImplementedHere(
            f"This server's installation of renderlayer is incomplete: its module {error.name} is missing. "
            "Install or deploy it again."
        )
    return NotImplementedHere(
        f"This server lacks the Python package {error.name}. "
        "Media need the extra 'renderlayer[multimodal]', or the deployment's parameter Multimodal."
    )


class Pieces(Response):
    """A body in pieces, which are never put together, and sent in slices, of which a server holds one at a time."""

    def __init__(self, pieces: list[bytes], status_code: int = 200) -> None:
        super().__init__(b"", status_code, JSON)
        self._pieces = pieces
        self.headers["content-length"] = str(sum(map(len, pieces)))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        pieces, self._pieces = self._pieces, []
        if in_function(scope):  # which gives its answer as a whole
            await send({"type": "http.response.body", "body": b"".join(pieces), "more_body": False})
            return
        small: list[bytes] = []
        for index, piece in enumerate(pieces):
            if len(piece) < LARGE:
                small.append(piece)
                continue
            pieces[index] = b""
            await send(_part(b"".join(small)))
            small.clear()
            view = memoryview(piece)
            for at in range(0, len(piece), _SLICE):
                await send(_part(bytes(view[at : at + _SLICE])))
        await send({"type": "http.response.body", "body": b"".join(small), "more_body": False})


def _part(body: bytes) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": True}


def spliced(answer: Any) -> list[bytes]:
    """The answer as compact JSON in pieces; its payloads are taken out of it on the way.

    Args:
        answer: payloads may be bytes, as of `request_context.payloads_as_bytes`; base64 needs no escapes.

    Raises:
        BadRequest: a lone surrogate, which JSON cannot hold.
    """
    if not isinstance(answer, dict) or not any(map(_is_payload, _payloads(answer))):
        return [dumped_fast(answer)]
    return list(_pieces(answer, _PATH))


def _payloads(answer: dict[str, Any]) -> Iterator[Any]:
    data = (answer.get("features") or {}).get("kwargs_data") or {}
    for slots in data.values():
        yield from slots


def _is_payload(slot: Any) -> bool:
    return isinstance(slot, bytes) or (isinstance(slot, str) and len(slot) > LARGE and slot.isascii())


def _pieces(value: dict[str, Any], path: Sequence[str]) -> Iterator[bytes]:
    """An object's JSON; the members of `path` lead to the payloads."""
    before = b"{"
    for key, member in value.items():
        yield before + dumped_fast(key) + b":"
        before = b","
        if not path:
            yield from _slots(member)
        elif key == path[0] and isinstance(member, dict):
            yield from _pieces(member, path[1:])
        else:
            yield dumped_fast(member)
    yield b"{}" if before == b"{" else b"}"


def _slots(slots: list[Any]) -> Iterator[bytes]:
    before = b"["
    for index, slot in enumerate(slots):
        yield before
        before = b","
        if _is_payload(slot):
            yield b'"'
            yield slot if isinstance(slot, bytes) else slot.encode("ascii")
            yield b'"'
            slots[index] = ""
        else:
            yield dumped_fast(slot)
    yield b"[]" if before == b"[" else b"]"
