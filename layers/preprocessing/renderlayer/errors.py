"""Every error of this package, in one tree; each class knows its HTTP status and its OpenAI `type`.

    RenderLayerError
    ├── BadRequest                400  BadRequestError            (wire.md 1.6: raised by the server's own checks)
    │   └── InvalidRequest        400  invalid_request_error      (responses: previous_response_id, harmony input)
    ├── ValidationFailed          400  Bad Request                (a body that does not fit its schema)
    ├── Unauthorized              401  body {"error": "Unauthorized"} (wire.md 1.2)
    ├── PermissionDenied          403  PermissionDeniedError
    ├── NotFound                  404  NotFoundError
    ├── MethodNotAllowed          405  MethodNotAllowedError
    ├── Conflict                  409  ConflictError              (a prompt that had to be extended cannot be)
    ├── PayloadTooLarge           413  PayloadTooLargeError
    ├── Unprocessable             422  UnprocessableEntityError   (media that could not be fetched)
    ├── FailedDependency          424  FailedDependencyError      (a reference whose object is gone: render again)
    ├── TooManyRequests           429  TooManyRequestsError       (try again; carries Retry-After)
    ├── NotImplementedHere        501  NotImplementedError
    ├── BadGateway                502  BadGatewayError            (the engine answered something that is not the wire)
    └── Unavailable               503  ServiceUnavailableError    (try again; carries Retry-After)
        └── GatewayTimeout        504  GatewayTimeoutError        (the answer takes longer than the request has)

Configuration mistakes (a flag that contradicts another, a folder that is no model) are `ConfigurationError`: they are
raised at start or at pack time and never become an HTTP answer.
"""

from __future__ import annotations

from typing import Any

SHOWN_VALUE = 200
"""Characters of an offending value that are shown."""


_ANTHROPIC_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}


def anthropic_error_type(status: int) -> str:
    """Anthropic's word for an HTTP status (wire.md 2.9)."""
    return _ANTHROPIC_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")


class ConfigurationError(Exception):
    """A setting, a model folder or a bundle that cannot work; the message says which and what to do."""


class RenderLayerError(Exception):
    """Base of all errors that become an HTTP answer.

    Args:
        message: the sentence for the caller.
        param: the field of the request at fault, or None.
        value: the offending value; when given it is appended to the message as the reference does.
    """

    status = 500
    type = "InternalServerError"
    suffix = False

    def __init__(self, message: str, param: str | None = None, value: Any = None) -> None:
        if self.suffix and param is not None:
            shown = f", value={str(value)[:SHOWN_VALUE]}" if value is not None else ""
            message = f"{message} (parameter={param}{shown})"
        super().__init__(message)
        self.message = message
        self.param = param

    def body(self) -> dict[str, Any]:
        """The OpenAI error envelope, keys in the reference's order (wire.md 1.6)."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.status}}

    def anthropic_body(self) -> dict[str, Any]:
        """The envelope of Anthropic's API (wire.md 2.9)."""
        return {"type": "error", "error": {"type": anthropic_error_type(self.status), "message": self.message}}


class BadRequest(RenderLayerError):
    status = 400
    type = "BadRequestError"
    suffix = True


class LoneSurrogate(BadRequest):
    """A text cannot be encoded."""


class InvalidRequest(BadRequest):
    type = "invalid_request_error"
    suffix = False


class ValidationFailed(RenderLayerError):
    status = 400
    type = "Bad Request"


class Unauthorized(RenderLayerError):
    status = 401
    type = "Unauthorized"

    def body(self) -> dict[str, Any]:
        return {"error": "Unauthorized"}


class PermissionDenied(RenderLayerError):
    status = 403
    type = "PermissionDeniedError"


class NotFound(RenderLayerError):
    status = 404
    type = "NotFoundError"


class MethodNotAllowed(RenderLayerError):
    status = 405
    type = "MethodNotAllowedError"


class RequestTimeout(RenderLayerError):
    """The request did not come in time."""

    status = 408
    type = "RequestTimeoutError"


class Conflict(RenderLayerError):
    status = 409
    type = "ConflictError"


class PayloadTooLarge(RenderLayerError):
    status = 413
    type = "PayloadTooLargeError"


class Unprocessable(RenderLayerError):
    status = 422
    type = "UnprocessableEntityError"


class FailedDependency(RenderLayerError):
    status = 424
    type = "FailedDependencyError"


class TooManyRequests(RenderLayerError):
    """More than the server takes at a time.

    Args:
        retry_after: seconds after which a new attempt makes sense; sent as the Retry-After header.
    """

    status = 429
    type = "TooManyRequestsError"

    def __init__(self, message: str, retry_after: int = 1) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotImplementedHere(RenderLayerError):
    status = 501
    type = "NotImplementedError"


class BadGateway(RenderLayerError):
    status = 502
    type = "BadGatewayError"


class Unavailable(RenderLayerError):
    """The service behind is down or busy.

    Args:
        retry_after: seconds after which a new attempt makes sense; sent as the Retry-After header.
    """

    status = 503
    type = "ServiceUnavailableError"

    def __init__(self, message: str, param: str | None = None, value: Any = None, retry_after: int = 1) -> None:
        super().__init__(message, param, value)
        self.retry_after = retry_after


class GatewayTimeout(Unavailable):
    status = 504
    type = "GatewayTimeoutError"
