"""A request, or the chunks of a stream, sent to a server."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from tests.reference.comparing import Answer, difference, gathered, short, with_one_bos

PATIENCE = 120
RESPONSES = "/v1/responses/render"


class Raw(str):
    """A body that is sent as it is, JSON or not."""


class Client:
    """One connection to a server, opened again when it breaks."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self._address = parts.hostname or "", parts.port or 80
        self._connection: http.client.HTTPConnection | None = None

    def post(self, path: str, body: Any, headers: dict[str, str] | None = None) -> Answer:
        """Status and decoded body; text where the body is no JSON. A body of `Raw` text goes out as it is."""
        text = body if isinstance(body, Raw) else json.dumps(body, ensure_ascii=False)
        raw, sent = text.encode("utf-8", "surrogatepass"), {"content-type": "application/json", **(headers or {})}
        for last in (False, True):
            try:
                self._connection = self._connection or http.client.HTTPConnection(*self._address, timeout=PATIENCE)
                self._connection.request("POST", path, raw, sent)
                response = self._connection.getresponse()
                found = response.read()
                break
            except (OSError, http.client.HTTPException):
                self._connection = None
                if last:
                    raise
        try:
            return response.status, json.loads(found)
        except ValueError:
            return response.status, found.decode("utf-8", "replace")


@dataclass
class Exchange:
    """What is sent.

    Attributes:
        body: of the request; of a stream, what is common to its chunks.
        chunks: generate_chunk objects, each sent with the state that the last answer gave; None: no stream.
        headers: beside the content type, or another one.
    """

    path: str
    body: Any
    chunks: list[Any] | None = field(default=None)
    headers: dict[str, str] = field(default_factory=dict)

    def answer(self, client: Client) -> Answer:
        """The answer; of a stream what its chunks amount to, or the first error."""
        if self.chunks is None:
            return client.post(self.path, self.body, self.headers)
        state, out = None, []
        for chunk in self.chunks:
            status, answer = client.post(self.path, {**self.body, "generate_chunk": chunk, "stream_state": state})
            if status != 200:
                return status, answer
            state = answer["stream_state"]
            out.append(answer["chunk"])
        return 200, gathered(out)

    def difference(self, reference: Client, ours: Client) -> str | None:
        """The first difference between the answers of two servers."""
        want, got = self.answer(reference), self.answer(ours)
        return difference(with_one_bos(want, got) if self.path == RESPONSES else want, got)

    def shown(self) -> str:
        """One line of JSON."""
        stream = {} if self.chunks is None else {"chunks": self.chunks}
        stream |= {"headers": self.headers} if self.headers else {}
        return json.dumps({"path": self.path, "body": self.body, **stream}, ensure_ascii=True)


__all__ = ["Client", "Exchange", "short"]
