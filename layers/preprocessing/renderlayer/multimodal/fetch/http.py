"""http and https, on the standard library: connections go to the address that was checked (wire.md 4.2, 9.28)."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from contextlib import closing
from urllib.parse import SplitResult, urljoin, urlsplit

from renderlayer.errors import BadRequest
from renderlayer.multimodal.fetch import address
from renderlayer.multimodal.fetch.budget import Deadline, FetchBudget, unfetchable
from renderlayer.multimodal.fetch.connection import open_connection
from renderlayer.settings import Settings

_CHUNK = 1 << 18
_PAUSE = 0.1  # seconds before the second attempt; each further pause is four times as long
_REDIRECT = frozenset({301, 302, 303, 307, 308})
_TRANSIENT = frozenset({408, 429})
_HEADERS = {"User-Agent": "renderlayer", "Accept": "*/*", "Accept-Encoding": "identity"}


# What a client is told of a failure: the first that fits.
_SENTENCES: tuple[tuple[type[Exception], str], ...] = (
    (TimeoutError, "timed out"),
    (socket.gaierror, "the name of the host does not resolve"),
    (ssl.SSLError, "the host has no valid certificate, or does not speak TLS"),
    (ConnectionRefusedError, "the host refuses the connection"),
    (ConnectionError, "the connection broke"),
    (http.client.IncompleteRead, "the answer is cut short"),
    (http.client.HTTPException, "the answer is no HTTP"),
    (Exception, "the host cannot be reached"),
)


class _Transient(Exception):
    """An answer that another attempt may better."""


def fetch(url: str, settings: Settings, deadline: Deadline, budget: FetchBudget) -> bytes:
    """The body behind a URL; attempts that fail for a passing reason are repeated within the deadline.

    Raises:
        BadRequest: the host, or that of a redirect, is not allowed.
        Unprocessable: not to be had: an error status, a broken connection, too many redirects, too many bytes.
    """
    for attempt in range(settings.media_fetch_attempts):
        try:
            return _follow(url, settings, deadline, budget)
        except (OSError, http.client.HTTPException, _Transient) as error:
            reason = _reason(error)
            pause = _PAUSE * 4**attempt
            if attempt + 1 == settings.media_fetch_attempts or deadline.left() <= pause:
                raise unfetchable(reason) from error
            time.sleep(pause)
    raise AssertionError("unreachable")


def _follow(url: str, settings: Settings, deadline: Deadline, budget: FetchBudget) -> bytes:
    for _ in range(settings.media_redirects + 1):
        outcome = _get(_parsed(url), settings, deadline, budget)
        if isinstance(outcome, bytes):
            return outcome
        url = urljoin(url, outcome)
    raise unfetchable("too many redirects")


def _parsed(url: str) -> SplitResult:
    """The URL's parts; refuses what browsers and servers read differently."""
    if "\\" in url or any(character <= " " or character == "\x7f" for character in url):
        raise unfetchable("Invalid URL")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise unfetchable("Invalid URL") from error
    if parts.scheme not in ("http", "https"):
        raise BadRequest("The URL must be either a HTTP, data or file URL.")
    if parts.username is not None or parts.password is not None:
        raise BadRequest("The URL must not contain credentials.")
    if not parts.hostname:
        raise unfetchable("Invalid URL")
    return parts


def _get(parts: SplitResult, settings: Settings, deadline: Deadline, budget: FetchBudget) -> bytes | str:
    """The body, or the target of a redirect."""
    host = _ascii(parts.hostname or "")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address.check_host(host, settings)
    addresses = address.resolve(host, port, settings)
    with closing(open_connection(parts.scheme, host, port, addresses, deadline)) as connection:
        connection.request("GET", (parts.path or "/") + (f"?{parts.query}" if parts.query else ""), headers=_HEADERS)
        with connection.getresponse() as response:
            target = response.headers["Location"]
            if response.status in _REDIRECT and target:
                return str(target)
            _check_status(response.status)
            return _body(response, budget)


def _ascii(host: str) -> str:
    try:
        encoded = host.encode("idna").decode()  # refuses labels that are empty or too long, in ASCII as well
        return host if host.isascii() else encoded
    except UnicodeError as error:
        raise unfetchable("Invalid URL") from error


def _check_status(status: int) -> None:
    if status in _TRANSIENT or status >= 500:
        raise _Transient(f"HTTP {status} error")
    if status != 200:
        raise unfetchable(f"HTTP {status} error")


def _body(response: http.client.HTTPResponse, budget: FetchBudget) -> bytes:
    if response.headers.get("Content-Encoding", "identity").lower() not in ("identity", ""):
        raise unfetchable("the server compressed the media although it was asked not to")
    budget.check_item(response.length or 0)
    chunks: list[bytes] = []
    size = 0
    while chunk := response.read(_CHUNK):
        size += len(chunk)
        budget.check_item(size)
        budget.receive(len(chunk))
        chunks.append(chunk)
    if response.length:
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(chunks)


def _reason(error: Exception) -> str:
    """What the client may know of a failure: never an address."""
    if isinstance(error, _Transient):
        return str(error)
    return next(text for kind, text in _SENTENCES if isinstance(error, kind))
