"""A server in the engine's place, for the benchmark of references: it reads bodies as vLLM's front end does.

`python -m tests.bench.reference_engine` prints its port. GET / tells the processor seconds that it has taken; GET /read
those that it takes to read a body of a given size which is already there.
"""

from __future__ import annotations

import json
import time

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from renderlayer.references import ResolveReferences
from renderlayer.references.middleware import PATH

PIECE = 1 << 20


async def generate(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(_size(await request.body())))


async def read(request: Request) -> PlainTextResponse:
    body = json.dumps({"features": {"kwargs_data": {"image": ["A" * int(request.query_params["size"])]}}}).encode()
    pieces = [body[at : at + PIECE] for at in range(0, len(body), PIECE)]
    began = time.process_time()
    _size(b"".join(pieces))
    return PlainTextResponse(str(time.process_time() - began))


def _size(body: bytes) -> int:
    return len(json.loads(body)["features"]["kwargs_data"]["image"][0])


async def processor(request: Request) -> PlainTextResponse:
    return PlainTextResponse(str(time.process_time()))


APP = Starlette(
    routes=[Route(PATH, generate, methods=["POST"]), Route("/", processor), Route("/read", read)],
    middleware=[Middleware(ResolveReferences)],
)


class _Server(uvicorn.Server):
    async def startup(self, sockets: object = None) -> None:
        await super().startup(None)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)


if __name__ == "__main__":
    _Server(uvicorn.Config(APP, port=0, lifespan="off", log_level="error")).run()
