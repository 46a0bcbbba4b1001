"""The trace that a request belongs to, for the calls that it causes.

https://www.w3.org/TR/trace-context/ and, where X-Ray alone tells of it,
https://docs.aws.amazon.com/xray/latest/devguide/xray-concepts.html#xray-concepts-tracingheader
"""

from __future__ import annotations

import os
import re

from starlette.types import Scope

from renderlayer.http.request import header

PARENT = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
XRAY = re.compile(r"Root=1-([0-9a-f]{8})-([0-9a-f]{24});Parent=([0-9a-f]{16});Sampled=([01])(?:;.*)?")
STATE = re.compile(r"[\x20-\x7e]{1,512}")
LAMBDA = "_X_AMZN_TRACE_ID"
"""The variable in which Lambda's runtimes keep the header of the invocation."""

Headers = tuple[tuple[str, str], ...]


def trace_of(scope: Scope) -> Headers:
    """The caller's `traceparent` (and `tracestate`), else one for the invocation's trace in X-Ray, else nothing."""
    parent = header(scope, b"traceparent") or ""
    if PARENT.fullmatch(parent):
        state = header(scope, b"tracestate") or ""
        return (("traceparent", parent), *((("tracestate", state),) if STATE.fullmatch(state) else ()))
    xray = XRAY.fullmatch(os.environ.get(LAMBDA, ""))
    if xray is None:
        return ()
    time, rest, span, sampled = xray.groups()
    return (("traceparent", f"00-{time}{rest}-{span}-0{sampled}"),)
