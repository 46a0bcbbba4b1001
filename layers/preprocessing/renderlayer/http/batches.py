"""`/v1/files`, `/v1/uploads` and `/v1/batches` on the bucket of batches, as the official client calls them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from http import HTTPStatus
from itertools import islice
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.exceptions import RequestValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from renderlayer.batch.api.files import BATCH, OUTPUT, Files
from renderlayer.batch.api.service import BatchService
from renderlayer.batch.api.uploads import Uploads
from renderlayer.errors import InvalidRequest, NotImplementedHere
from renderlayer.http.api import as_starlettes
from renderlayer.http.application import Application
from renderlayer.http.aws.lambda_handler import ENVELOPE, LambdaHandler
from renderlayer.http.complete import PATHS
from renderlayer.http.request import decoded, read_body
from renderlayer.http.response import error_response
from renderlayer.http.routes import ROUTES
from renderlayer.request_context import seconds_left
from renderlayer.settings import PREFIX, Settings
from renderlayer.storage.bucket import Bucket

URLS = frozenset(PATHS) | {route.path for route in ROUTES}
"""What a batch may ask for."""

Json = dict[str, Any]
Limit = Annotated[int, Query(ge=1, le=100)]


def create_batch_app(settings: Settings) -> Application:
    """Build the application; without a bucket every call is refused. It opens no model."""
    app = Application(settings)
    app.extend(partial(_add_routes, settings=settings))
    return app


def _add_routes(app: FastAPI, settings: Settings) -> None:
    app.add_exception_handler(HTTPStatus.BAD_REQUEST, _on_form)
    app.add_exception_handler(RequestValidationError, _on_query)
    if settings.batch_bucket:
        bucket = Bucket(settings.batch_bucket)
        _add_files(app, Files(bucket), settings)
        _add_uploads(app, Uploads(bucket), settings)
        _add_batches(app, BatchService(bucket, URLS), settings)
    else:
        _add_refusal(app)


def function() -> LambdaHandler:
    """The handler of the function, configured by the environment."""
    settings = Settings.from_environment()
    return LambdaHandler(create_batch_app(settings).prepare(), settings, "batch_api")


def _add_files(app: FastAPI, files: Files, settings: Settings) -> None:
    # base64 takes 4 bytes for 3, and the function's answer has a limit
    most = (settings.max_response_bytes - ENVELOPE) // 4 * 3 if settings.max_response_bytes else 0

    @app.post("/v1/files")
    async def create(request: Request) -> Json:
        async with request.form() as form:
            if form.get("purpose") != BATCH:
                raise InvalidRequest(f"purpose must be '{BATCH}'.", "purpose")
            name, content = await _file_of(form, "file")
            return await run_in_threadpool(files.add, name, content)

    @app.get("/v1/files")
    def listed(limit: Limit = 100, after: str | None = None, purpose: str | None = None) -> Json:
        return _page(iter(()) if purpose == OUTPUT else files.listed(after), limit)

    @app.get("/v1/files/{file_id}")
    def describe(file_id: str) -> Json:
        return files.describe(file_id)

    @app.delete("/v1/files/{file_id}")
    def remove(file_id: str) -> Json:
        return files.remove(file_id)

    @app.get("/v1/files/{file_id}/content")
    def content(file_id: str) -> Response:
        found = files.content(file_id, most)
        if isinstance(found, str):
            return RedirectResponse(found)
        return Response(found, media_type="application/octet-stream")


def _add_uploads(app: FastAPI, uploads: Uploads, settings: Settings) -> None:
    @app.post("/v1/uploads")
    async def create(request: Request) -> Json:
        return await run_in_threadpool(uploads.create, await _json_of(request, settings))

    @app.post("/v1/uploads/{upload_id}/parts")
    async def add(upload_id: str, request: Request) -> Json:
        async with request.form() as form:
            _, content = await _file_of(form, "data")
            return await run_in_threadpool(uploads.add, upload_id, content)

    @app.post("/v1/uploads/{upload_id}/complete")
    async def complete(upload_id: str, request: Request) -> Json:
        body = await _json_of(request, settings)
        return await run_in_threadpool(uploads.complete, upload_id, body, partial(seconds_left, math.inf))

    @app.post("/v1/uploads/{upload_id}/cancel")
    def cancel(upload_id: str) -> Json:
        return uploads.cancel(upload_id)


def _add_batches(app: FastAPI, orders: BatchService, settings: Settings) -> None:
    @app.post("/v1/batches")
    async def create(request: Request) -> Json:
        return {**await run_in_threadpool(orders.create, await _json_of(request, settings))}

    @app.get("/v1/batches")
    def listed(limit: Limit = 20, after: str | None = None) -> Json:
        return _page(orders.listed(after), limit)

    @app.get("/v1/batches/{batch_id}")
    def retrieve(batch_id: str) -> Json:
        return {**orders.retrieve(batch_id)}

    @app.post("/v1/batches/{batch_id}/cancel")
    def cancel(batch_id: str) -> Json:
        return {**orders.cancel(batch_id)}


def _add_refusal(app: FastAPI) -> None:
    @app.api_route("/{path:path}", methods=["GET", "POST", "DELETE"])
    def refuse(path: str) -> Json:
        raise NotImplementedHere(f"This server has no bucket for batches ({PREFIX}BATCH_BUCKET).")


async def _json_of(request: Request, settings: Settings) -> Any:
    return decoded(await read_body(request.scope, request.receive, settings.max_body_bytes))


async def _file_of(form: FormData, field: str) -> tuple[str, bytes]:
    """Name and content of a form's file.

    Raises:
        InvalidRequest: there is none in this field.
    """
    found = form.get(field)
    if not isinstance(found, UploadFile):
        raise InvalidRequest(f"{field} must be a file.", field)
    return found.filename or "", await found.read()


async def _on_form(request: Request, error: Exception) -> Response:
    """A form that cannot be read."""
    assert isinstance(error, HTTPException)
    return as_starlettes(error_response(InvalidRequest(error.detail)))


async def _on_query(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    fault = error.errors()[0]
    name = str(fault["loc"][-1])
    return as_starlettes(error_response(InvalidRequest(f"{name}: {fault['msg']}", name)))


def _page(rows: Iterator[Mapping[str, Any]], limit: int) -> Json:
    found = list(islice(rows, limit + 1))
    shown = found[:limit]
    return {
        "object": "list",
        "data": shown,
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": len(found) > limit,
    }
