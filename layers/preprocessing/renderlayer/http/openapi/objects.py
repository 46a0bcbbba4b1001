"""Errors, models, tokens, files and batches, as models of the API's description."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from renderlayer.http.openapi.answers import DescribedAnswer


class ErrorDetail(DescribedAnswer):
    message: str
    type: str
    param: str | None = Field(description="The field of the request at fault.")
    code: int = Field(description="The HTTP status.")


class Error(DescribedAnswer):
    """What goes wrong, in OpenAI's form."""

    error: ErrorDetail


class AnthropicErrorDetail(DescribedAnswer):
    type: str
    message: str


class AnthropicError(DescribedAnswer):
    """What goes wrong, in Anthropic's form."""

    type: Literal["error"]
    error: AnthropicErrorDetail


class UnknownKey(DescribedAnswer):
    """No key, or none that is known."""

    error: Literal["Unauthorized"]


class ModelCard(BaseModel):
    """A name that requests may use."""

    id: str
    object: Literal["model"]
    created: int
    owned_by: str
    root: str
    parent: None
    max_model_len: int
    permission: list[dict[str, Any]]


class ModelList(DescribedAnswer):
    object: Literal["list"]
    data: list[ModelCard]


class Version(DescribedAnswer):
    version: str


class Load(DescribedAnswer):
    server_load: int


class Tokens(DescribedAnswer):
    count: int
    max_model_len: int
    tokens: list[int]
    token_strs: list[str] | None


class Text(DescribedAnswer):
    prompt: str


class File(DescribedAnswer):
    """A file; those of `purpose` "batch_output" are results."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    expires_at: None
    filename: str
    purpose: Literal["batch", "batch_output"]
    status: Literal["processed"]


class _Page(DescribedAnswer):
    object: Literal["list"]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileList(_Page):
    data: list[File]


class DeletedFile(DescribedAnswer):
    id: str
    object: Literal["file"]
    deleted: Literal[True]


class UploadRequest(BaseModel):
    """A file that is to come in parts."""

    bytes: int = Field(gt=0, description="Size of the whole file.")
    filename: str = Field(min_length=1)
    mime_type: str
    purpose: Literal["batch"]


class Upload(DescribedAnswer):
    """A file that comes in parts; `file` is there once it is complete."""

    id: str
    object: Literal["upload"]
    bytes: int
    created_at: int
    expires_at: int
    filename: str
    purpose: Literal["batch"]
    status: Literal["pending", "completed", "cancelled", "expired"]
    file: File | None = None


class UploadPart(DescribedAnswer):
    id: str
    object: Literal["upload.part"]
    created_at: int
    upload_id: str


class UploadCompletion(BaseModel):
    """The parts in the order of the file."""

    part_ids: list[str] = Field(min_length=1)
    md5: str | None = Field(default=None, description="Of the file, where it is to be checked.")


class RequestCounts(DescribedAnswer):
    total: int
    completed: int
    failed: int


class Batch(BaseModel):
    """A batch, whose times are Unix seconds."""

    id: str
    object: Literal["batch"]
    endpoint: str
    errors: dict[str, Any] | None
    input_file_id: str
    completion_window: str
    status: Literal[
        "validating", "in_progress", "cancelling", "finalizing", "completed", "failed", "expired", "cancelled"
    ]
    output_file_id: str | None
    error_file_id: str | None
    created_at: int
    in_progress_at: int | None
    expires_at: int | None
    finalizing_at: int | None
    completed_at: int | None
    failed_at: int | None
    expired_at: int | None
    cancelling_at: int | None
    cancelled_at: int | None
    request_counts: RequestCounts
    metadata: dict[str, str] | None


class BatchList(_Page):
    data: list[Batch]


class BatchRequest(BaseModel):
    """A batch to begin."""

    input_file_id: str = Field(description="Id of a file of lines, one request each.")
    endpoint: str = Field(description="What the lines ask for, such as /v1/chat/completions.")
    completion_window: Annotated[str, Field(pattern="^[1-9][0-9]{0,2}h$")] = Field(
        description="Hours after which lines that are not begun expire.", examples=["24h"]
    )
    metadata: Annotated[dict[str, str], Field(max_length=16)] | None = None
