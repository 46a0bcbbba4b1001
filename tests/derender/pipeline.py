"""What stands between an official client and the functions: renders, lets an engine say something, derenders.

The functions are the real application, called over HTTP by way of its ASGI interface; only the engine is played.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2

from renderlayer.derender.core import sse
from renderlayer.http.app import create_app
from renderlayer.served_model import ServedModel
from tests.derender.engine import Json, choice, encoded, events, response, split


class Pipeline(httpx2.AsyncBaseTransport):
    """Serves `/v1/responses` and `/v1/messages` as a transport of the clients.

    Args:
        text: what the engine says.
        sizes: tokens of the chunks in which it streams.
        by_chunk: derender a stream event by event, carrying the state, instead of in one call.
        last: fields of the engine's choice, or of its last event: finish_reason, stop_reason.
    """

    def __init__(
        self, server: ServedModel, text: str, sizes: Sequence[int] = (), by_chunk: bool = False, **last: Any
    ) -> None:
        self.prompts: list[str] = []
        self._server = server
        self._ids = encoded(server, text)
        self._sizes = sizes
        self._by_chunk = by_chunk
        self._last = last
        app = create_app(server.settings, ("render", "derender"), server)
        self._functions = httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://functions")

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        api = request.url.path.rsplit("/", 1)[-1]
        body = json.loads(await request.aread())
        rendered = await self._functions.post(f"/v1/{api}/render", json=body)
        if rendered.status_code != 200:
            return _copied(rendered)
        prompt = rendered.json()["token_ids"]
        self.prompts.append(self._server.model.tokenizer.decode(prompt, skip_special_tokens=False))
        frame = {f"{api}_request": body, "prompt_token_ids": prompt}
        request_id = f"generate-tokens-{rendered.json()['request_id']}"
        path = f"/v1/{api}/derender"
        if not body.get("stream"):
            generated = response(choice(self._ids, **self._last), request_id=request_id)
            return _copied(await self._functions.post(path, json={**frame, "generate_response": generated}))
        stream = list(self._stream(request_id))
        if self._by_chunk:
            return await self._chunk_by_chunk(path, frame, stream)
        content = b"".join([*map(sse.event, [frame, *stream]), sse.DONE])
        headers = {"content-type": "text/event-stream"}
        return _copied(await self._functions.post(path, content=content, headers=headers))

    def _stream(self, request_id: str) -> Iterator[Json]:
        for event in events(split(self._ids, self._sizes), **self._last):
            yield {**event, "request_id": request_id}

    async def _chunk_by_chunk(self, path: str, frame: Json, stream: list[Json]) -> httpx2.Response:
        state, said = None, []
        for event in stream:
            call = {**frame, "stream": True, "generate_chunk": event, "stream_state": state}
            answer = (await self._functions.post(path, json=call)).json()
            state = answer["stream_state"]
            said += [sse.event(told["data"], told["event"]) for told in answer["events"]]
        return httpx2.Response(200, content=b"".join(said), headers={"content-type": "text/event-stream"})


def _copied(answer: httpx2.Response) -> httpx2.Response:
    return httpx2.Response(
        answer.status_code, content=answer.content, headers={"content-type": answer.headers["content-type"]}
    )
