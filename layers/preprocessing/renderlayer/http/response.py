"""An answer as an ASGI application, as Starlette's `Response` is one, whose import takes a tenth of a cold start."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send


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
