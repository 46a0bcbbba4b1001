"""The front door behind a function URL that streams: the same endpoints, each event sent when it is there."""

from __future__ import annotations

from renderlayer.http.aws.function import function

handler = function("complete")
