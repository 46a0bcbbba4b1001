"""The application: the wire's endpoints over one opened model; everything else is below (wire.md 1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from starlette.types import Receive, Scope

from renderlayer.errors import LoneSurrogate
from renderlayer.http.application import Application, Endpoint
from renderlayer.http.execution.measures import count_tokens, timed
from renderlayer.http.execution.threads import run_blocking
from renderlayer.http.request import decoded, header, media_type, read_body, require_json
from renderlayer.http.response import EVENT_STREAM, Pieces, Response, json_response, spliced
from renderlayer.http.routes import ROUTES, Route
from renderlayer.memory import payloads_as_bytes
from renderlayer.served_model import ServedModel
from renderlayer.settings import Settings
from renderlayer.wire.common.json_text import dumped, dumped_fast
from renderlayer.wire.common.remarks import HEADER, header_value, remarks
from renderlayer.wire.common.surrogates import located

if TYPE_CHECKING:
    from fastapi import FastAPI

    from renderlayer.pipeline import Engine

PARTS = ("render", "derender", "complete")


def create_app(
    settings: Settings | None = None, parts: Sequence[str] = PARTS, server: ServedModel | None = None
) -> Application:
    """Build the application.

    Args:
        settings: default: from the environment.
        parts: which functions' routes it serves; "complete" needs an engine_url.
        server: an opened model to share; default: the one that the settings name.

    Raises:
        ConfigurationError: the model cannot be opened.
    """
    settings = settings or Settings.from_environment()
    server = server or ServedModel.open(settings, encodes=tuple(parts) != ("derender",))
    endpoints = {route.path: _endpoint(route, server) for route in ROUTES if route.part in parts}
    engine = cache(partial(_open_engine, settings))
    front_door: dict[str, Endpoint] = {}
    if "complete" in parts and settings.engine_url:
        from renderlayer.http.complete import complete_endpoints

        front_door = complete_endpoints(server, engine())
    app = Application(settings, endpoints, front_door)
    app.extend(partial(_add_status_routes, server=server, engine=engine))
    return app


def _add_status_routes(api: FastAPI, server: ServedModel, engine: Callable[[], Engine]) -> None:
    from renderlayer.http.status import add_status_routes

    add_status_routes(api, server, engine)


def _open_engine(settings: Settings) -> Engine:
    from renderlayer.pipeline import Engine
    from renderlayer.secrets.secret import engine_key

    return Engine(settings.engine_url, engine_key(settings))


def _endpoint(route: Route, server: ServedModel) -> Endpoint:
    async def endpoint(scope: Scope, receive: Receive) -> Response:
        if route.stream is not None and media_type(scope) == EVENT_STREAM:
            from renderlayer.http.streams import derendered_stream

            return await derendered_stream(scope, receive, route.stream, server, route.named_events)
        require_json(scope)
        body = await read_body(scope, receive, server.settings.max_body_bytes)
        header_id = header(scope, b"x-request-id")

        def content() -> bytes | list[bytes]:
            value = decoded(body)
            try:
                return answered(value)
            except (LoneSurrogate, UnicodeEncodeError) as error:
                raise located(error, value) from None

        def answered(value: Any) -> bytes | list[bytes]:
            above = server.settings.reference_request_above
            with timed(route.part), nullcontext() if above or not route.fast_json else payloads_as_bytes():
                answer = route.work(value, server, header_id)
            count_tokens(scope, answer)
            if not route.fast_json:
                return dumped(answer)
            if not above:
                return spliced(answer)
            whole = dumped_fast(answer)
            if len(whole) <= above:
                return whole
            from renderlayer.references.writing import claims

            return dumped_fast(claims(answer, server.settings, server.model))

        def work() -> Response:
            with remarks() as found:
                written = content()
            response = Pieces(written) if isinstance(written, list) else json_response(written)
            if found:
                response.headers[HEADER] = header_value(found)
            return response

        return await run_blocking(scope, work)

    return endpoint
