"""Step one: bring in the encoded bytes of a request's media (wire.md 4.2).

The only place of this room that does I/O. Remote items are fetched at the same time; each has a deadline of its own
that covers name resolution, redirects and further attempts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from renderlayer.errors import BadRequest
from renderlayer.multimodal.fetch import data_url, local
from renderlayer.multimodal.fetch.budget import Deadline, FetchBudget, unfetchable
from renderlayer.multimodal.items import EncodedMedia
from renderlayer.settings import Settings

if TYPE_CHECKING:
    from concurrent.futures import Future

_REMOTE = frozenset({"http", "https", "s3"})
_THREADS = 8
_GRACE = 0.5  # seconds that a fetch may overrun its own deadline before the request stops waiting for it

Wanted = tuple[str, str]  # (modality, url)


def fetch_all(wanted: Sequence[Wanted], settings: Settings) -> list[EncodedMedia]:
    """The content behind each URL, in order; a URL that occurs twice is fetched once.

    Raises:
        BadRequest: a URL that this deployment does not follow, or that is malformed.
        NotImplementedHere: a data URL that is not base64.
        Unprocessable: the media could not be fetched, or are larger than allowed.
    """
    schemes = [_scheme(url) for _, url in wanted]
    remote = [pair for pair, scheme in zip(wanted, schemes, strict=True) if scheme in _REMOTE]
    found = _fetch_remote(list(dict.fromkeys(remote)), settings, FetchBudget(settings))
    return [
        found[pair] if scheme in _REMOTE else _fetch_here(pair[1], scheme, settings)
        for pair, scheme in zip(wanted, schemes, strict=True)
    ]


def _fetch_remote(remote: Sequence[Wanted], settings: Settings, budget: FetchBudget) -> dict[Wanted, EncodedMedia]:
    if not remote:
        return {}
    from concurrent.futures import ThreadPoolExecutor

    from renderlayer.multimodal.fetch import http, s3

    pool = ThreadPoolExecutor(min(len(remote), _THREADS), thread_name_prefix="media")
    try:
        running: dict[Wanted, tuple[Future[bytes], Deadline]] = {}
        for modality, url in remote:
            deadline = Deadline(_seconds(modality, settings))
            fetch = s3.fetch if _scheme(url) == "s3" else http.fetch
            running[modality, url] = (pool.submit(fetch, url, settings, deadline, budget), deadline)
        return {pair: EncodedMedia(_wait(future, deadline)) for pair, (future, deadline) in running.items()}
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _seconds(modality: str, settings: Settings) -> float:
    return {
        "image": settings.image_fetch_seconds,
        "audio": settings.audio_fetch_seconds,
        "video": settings.video_fetch_seconds,
    }[modality]


def _wait(future: Future[bytes], deadline: Deadline) -> bytes:
    try:
        return future.result(deadline.left() + _GRACE)
    except TimeoutError as error:
        raise unfetchable("timed out") from error


def _fetch_here(url: str, scheme: str, settings: Settings) -> EncodedMedia:
    if scheme == "data":
        return data_url.decode(url, settings.max_media_item_bytes)
    if scheme == "file":
        return EncodedMedia(local.read(url, settings.allowed_local_media_path, settings.max_media_item_bytes))
    raise BadRequest("The URL must be either a HTTP, data or file URL.")


def _scheme(url: str) -> str:
    if url[:5].lower() == "data:":
        return "data"
    try:
        return urlsplit(url).scheme
    except ValueError as error:
        raise unfetchable("Invalid URL") from error
