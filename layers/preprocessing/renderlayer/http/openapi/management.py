"""The operations without a model's work: files, batches, and the status of a server."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import File, Form, Query, UploadFile

from renderlayer.http.openapi import examples, objects
from renderlayer.http.openapi.operation import BODY, GET, STORED, Operation

_AFTER = (Annotated[str | None, Query(description="Id of the last entry of the page before.")], None)
_FILE_ID: dict[str, Any] = {"file_id": (str,)}
_UPLOAD_ID: dict[str, Any] = {"upload_id": (str,)}
_BATCH_ID: dict[str, Any] = {"batch_id": (str,)}


def _limit(default: int) -> tuple[Any, ...]:
    return Annotated[int, Query(ge=1, le=100, description="Entries of a page.")], default


BATCHES = (
    Operation(
        "POST",
        "/v1/files",
        "create_file",
        "batches",
        "Upload a file of requests",
        "One JSON object a line: `custom_id`, `method`, `url`, `body`.",
        answer=objects.File,
        errors=(*BODY, 501),
        parameters={"file": (Annotated[UploadFile, File()],), "purpose": (Annotated[str, Form(pattern="^batch$")],)},
    ),
    Operation(
        "GET",
        "/v1/files",
        "list_files",
        "batches",
        "List files",
        answer=objects.FileList,
        errors=STORED,
        parameters={
            "limit": _limit(100),
            "after": _AFTER,
            "purpose": (Annotated[str | None, Query(description="batch or batch_output.")], None),
        },
    ),
    Operation(
        "GET",
        "/v1/files/{file_id}",
        "retrieve_file",
        "batches",
        "Look at a file",
        answer=objects.File,
        errors=STORED,
        parameters=_FILE_ID,
    ),
    Operation(
        "DELETE",
        "/v1/files/{file_id}",
        "delete_file",
        "batches",
        "Delete a file",
        answer=objects.DeletedFile,
        errors=STORED,
        parameters=_FILE_ID,
    ),
    Operation(
        "GET",
        "/v1/files/{file_id}/content",
        "retrieve_file_content",
        "batches",
        "Read a file",
        "Files that are too large for an answer are redirected to, for some minutes.",
        errors=STORED,
        media_type="application/octet-stream",
        parameters=_FILE_ID,
        extra={"responses": {"307": {"description": "Where the content is to be had."}}},
    ),
    Operation(
        "POST",
        "/v1/uploads",
        "create_upload",
        "batches",
        "Begin a file that comes in parts",
        body=objects.UploadRequest,
        examples=examples.UPLOAD,
        answer=objects.Upload,
        errors=(*BODY, 501),
    ),
    Operation(
        "POST",
        "/v1/uploads/{upload_id}/parts",
        "add_upload_part",
        "batches",
        "Add a part",
        answer=objects.UploadPart,
        errors=(*BODY, 501),
        parameters={**_UPLOAD_ID, "data": (Annotated[UploadFile, File()],)},
    ),
    Operation(
        "POST",
        "/v1/uploads/{upload_id}/complete",
        "complete_upload",
        "batches",
        "Make the file of its parts",
        "Calling it again goes on where the time of the call before ended, and gives the same file.",
        body=objects.UploadCompletion,
        examples=examples.UPLOAD_COMPLETION,
        answer=objects.Upload,
        errors=(*BODY, 501),
        parameters=_UPLOAD_ID,
    ),
    Operation(
        "POST",
        "/v1/uploads/{upload_id}/cancel",
        "cancel_upload",
        "batches",
        "Drop an upload and its parts",
        answer=objects.Upload,
        errors=STORED,
        parameters=_UPLOAD_ID,
    ),
    Operation(
        "POST",
        "/v1/batches",
        "create_batch",
        "batches",
        "Begin a batch",
        body=objects.BatchRequest,
        examples=examples.BATCH,
        answer=objects.Batch,
        errors=(*BODY, 501),
    ),
    Operation(
        "GET",
        "/v1/batches",
        "list_batches",
        "batches",
        "List batches, newest first",
        answer=objects.BatchList,
        errors=STORED,
        parameters={"limit": _limit(20), "after": _AFTER},
    ),
    Operation(
        "GET",
        "/v1/batches/{batch_id}",
        "retrieve_batch",
        "batches",
        "Look at a batch",
        answer=objects.Batch,
        errors=STORED,
        parameters=_BATCH_ID,
    ),
    Operation(
        "POST",
        "/v1/batches/{batch_id}/cancel",
        "cancel_batch",
        "batches",
        "Cancel a batch",
        "Lines that are not begun fail; those that are done stay.",
        answer=objects.Batch,
        errors=STORED,
        parameters=_BATCH_ID,
    ),
)
STATUS = (
    Operation(
        "GET",
        "/v1/models",
        "list_models",
        "status",
        "List the served names",
        answer=objects.ModelList,
        errors=GET,
    ),
    Operation(
        "GET",
        "/v1/models/{name}",
        "retrieve_model",
        "status",
        "Look at a served name",
        answer=objects.ModelCard,
        errors=(*GET, 404),
        parameters={"name": (str,)},
    ),
    Operation("GET", "/health", "health", "status", "Whether this server answers", errors=(500,), open=True),
    Operation("GET", "/ping", "ping", "status", "As /health", errors=(500,), open=True),
    Operation("POST", "/ping", "ping_post", "status", "As /health", errors=(500,), open=True),
    Operation(
        "GET",
        "/readyz",
        "readyz",
        "status",
        "Whether calls get through to the engine, where there is one, or to one of several, and how those are",
        errors=(*GET, 502),
        parameters={"engines": (bool, False)},
    ),
    Operation("GET", "/load", "load", "status", "Load of this server", answer=objects.Load, errors=GET),
    Operation("GET", "/version", "version", "status", "Version of the wire", answer=objects.Version, errors=GET),
    Operation(
        "GET",
        "/metrics",
        "metrics",
        "status",
        "Metrics in Prometheus's form",
        "Of servers; functions write theirs to CloudWatch.",
        errors=(*GET, 404),
        media_type="text/plain",
    ),
)
MANAGEMENT = (*BATCHES, *STATUS)
