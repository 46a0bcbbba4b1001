"""Lines of a batch file and of its results, in the form of OpenAI's Batch API."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from renderlayer.batch.steps.sharder import LARGEST_LINE, text_of
from renderlayer.errors import RenderLayerError
from renderlayer.wire.common.json_text import compact, read

LONGEST_ID = 512
"""Characters of a custom_id."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """A line that can be worked on."""

    custom_id: str
    url: str
    body: Json


class LineError(Exception):
    """What is wrong with a line.

    Attributes:
        code: as the error file names it.
        custom_id: the line's, where it has one.
    """

    def __init__(self, code: str, message: str, custom_id: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.custom_id = custom_id


@dataclass(frozen=True, slots=True)
class Result:
    """A line of the output file (`ok`) or of the error file, with its line end."""

    ok: bool
    text: bytes


def numbered(data: bytes, first: int) -> Iterator[tuple[int, bytes]]:
    """(number, text) of the lines that are not blank."""
    for number, line in enumerate(data.split(b"\n"), first):
        text = text_of(line, number)
        if text:
            yield number, text


def judged(line: bytes, urls: Collection[str], duplicate: bool = False) -> Request:
    """Read a line.

    Args:
        urls: what it may ask for.
        duplicate: whether an earlier line has its custom_id.

    Raises:
        LineError: it cannot be worked on.
    """
    try:
        value = read(line)
    except (ValueError, RecursionError):
        raise LineError("invalid_json_line", "This line is not parseable as valid JSON.") from None
    if not isinstance(value, dict):
        raise LineError("invalid_json_line", "This line is not a JSON object.")
    custom_id = value.get("custom_id")
    if custom_id is None:
        raise LineError("missing_required_parameter", "Missing required parameter: custom_id.")
    if not isinstance(custom_id, str) or not 0 < len(custom_id) <= LONGEST_ID:
        raise LineError("invalid_custom_id", f"custom_id must be a string of 1 to {LONGEST_ID} characters.")
    if duplicate:
        message = "An earlier line has the same custom_id; it must be unique for each request in a batch."
        raise LineError("duplicate_custom_id", message, custom_id)
    if value.get("method") != "POST":
        raise LineError("invalid_method", "method must be POST.", custom_id)
    url = value.get("url")
    if not isinstance(url, str) or url not in urls:
        raise LineError("invalid_url", f"url must be one of {', '.join(sorted(urls))}.", custom_id)
    body = value.get("body")
    if not isinstance(body, dict):
        raise LineError("invalid_body", "body must be a JSON object.", custom_id)
    return Request(custom_id, url, body)


def custom_id_of(line: bytes) -> str | None:
    """The custom_id of a line that is not going to be worked on, if it has one."""
    try:
        value = read(line)
    except (ValueError, RecursionError):
        return None
    found = value.get("custom_id") if isinstance(value, dict) else None
    return found if isinstance(found, str) else None


def answered(batch: str, number: int, custom_id: str, body: Any, request_id: str) -> Result:
    """The result of a line that was answered.

    Raises:
        UnicodeEncodeError: a lone surrogate would reach the file.
    """
    return Result(True, _dumped(_row(batch, number, custom_id, _response(200, request_id, body), None)))


def refused(batch: str, number: int, custom_id: str, error: RenderLayerError, request_id: str) -> Result:
    """The result of a line whose request was answered with an error."""
    return Result(
        False, _dumped(_row(batch, number, custom_id, _response(error.status, request_id, error.body()), None))
    )


def failed(batch: str, number: int, error: LineError) -> Result:
    """The result of a line that never was a request, or was not begun."""
    fault = {"code": error.code, "message": str(error), "line": number}
    return Result(False, _dumped(_row(batch, number, error.custom_id, None, fault)))


def too_long() -> LineError:
    return LineError("line_too_long", f"This line is longer than {LARGEST_LINE} bytes.")


def _row(batch: str, number: int, custom_id: str | None, response: Json | None, error: Json | None) -> Json:
    # the id is that of the line, so that doing a line again gives the same one
    return {
        "id": f"batch_req_{batch.removeprefix('batch_')}-{number}",
        "custom_id": custom_id,
        "response": response,
        "error": error,
    }


def _response(status: int, request_id: str, body: Any) -> Json:
    return {"status_code": status, "request_id": request_id, "body": body}


def _dumped(row: Json) -> bytes:
    # a copy of its very size: what orjson returns holds on to pages of its larger buffer
    return compact(row) + b"\n"
