"""An answer that is sent whole, as the HTTP API sends what a function streams."""

from __future__ import annotations

from starlette.types import Message, Send


class Collecting:
    """Takes an answer's messages and sends them as one; one that is whole already passes as it is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._start: Message = {}
        self._parts: list[bytes] = []

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            return
        self._parts.append(message.get("body", b""))
        if message.get("more_body", False):
            return
        body = b"".join(self._parts)
        headers = [(name, value) for name, value in self._start["headers"] if name.lower() != b"content-length"]
        await self._send({**self._start, "headers": [*headers, (b"content-length", b"%d" % len(body))]})
        await self._send({"type": "http.response.body", "body": body})
