"""From the body of a generate request with references to the body that the engine understands."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from renderlayer.errors import BadGateway, BadRequest, FailedDependency, PayloadTooLarge, Unavailable
from renderlayer.references.address import Address, Place
from renderlayer.references.cache import Cache, Lease
from renderlayer.references.fetch import Flawed, Pieces, as_base64, as_bytes, base64_size, describe
from renderlayer.references.metrics import metrics
from renderlayer.references.scan import REQUEST, Found, references
from renderlayer.references.single_flight import SingleFlight
from renderlayer.storage.objects import Gone, ObjectStore, Stored

Value = TypeVar("Value")

THREADS = 16
"""Objects fetched at a time."""


@dataclass(frozen=True)
class Resolved:
    """A body in segments, to be sent one after the other.

    Args:
        lease: holds the payloads among the segments; to be released once they are sent.
    """

    segments: Sequence[bytes]
    lease: Lease


class Resolver:
    """Resolves references against one store.

    Args:
        store: where the objects are.
        allowed: the places that may be read.
        cache_bytes: most bytes of payloads in memory.
        seconds: most time that a request's references may take.
        model: fingerprint of the packed model that payloads must be made for; "" for any.
    """

    def __init__(
        self, store: ObjectStore, allowed: Sequence[Place], cache_bytes: int, seconds: float, model: str = ""
    ) -> None:
        self._store = store
        self._allowed = allowed
        self._seconds = seconds
        self._model = model
        self._cache = Cache(cache_bytes)
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="references")
        self._describing: SingleFlight[Stored] = SingleFlight()
        self._fetches: set[asyncio.Task[None]] = set()

    async def resolve(self, body: bytes) -> Resolved | None:
        """The body with base64 in place of its references, all of which are fetched at the same time.

        Returns:
            None when there are none.

        Raises:
            BadRequest: a reference is none, is not allowed, or its object is not what was written.
            FailedDependency: an object is gone.
            PayloadTooLarge: the references would not fit into memory.
            Unavailable: the store is down or slow, or too much is under way.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._seconds):
                return await self._resolved(body)
        except TimeoutError:
            metrics().resolved("unavailable")
            raise Unavailable("The references of this request took too long. Try again.", retry_after=2) from None
        finally:
            metrics().took(time.monotonic() - began)

    async def _resolved(self, body: bytes) -> Resolved | None:
        found = await self._scanned(body)
        claim = next((entry for entry in found if entry.path == REQUEST), None)
        if claim is not None:
            body = await self._claimed(body, claim.text)
            found = await self._scanned(body)
        if not found and claim is None:
            return None
        addresses = [self._address(entry.text, entry.path) for entry in found]
        items = {address: entry.path for address, entry in reversed(list(zip(addresses, found, strict=True)))}
        lease = await self._leased(items)
        try:
            self._check_sum(lease, addresses)
            pieces = {address: await self._arrived(lease, address, path) for address, path in items.items()}
        except BaseException:
            lease.release()
            raise
        return Resolved(_segments(body, found, [pieces[address] for address in addresses]), lease)

    async def _claimed(self, body: bytes, text: str) -> bytes:
        """The request behind a claim check; what stands beside `request_ref` goes over its own keys.

        The last of two equal keys counts in JSON as Python reads it, so the stored text stays as it is.
        """
        try:
            others = {key: value for key, value in json.loads(body).items() if key != REQUEST}
        except (ValueError, RecursionError):
            raise BadRequest("A body with a request_ref must be JSON.") from None
        address = self._address(text, REQUEST)
        stored = (await self._described({address: REQUEST}))[address]
        if stored.size > self._cache.limit:
            raise self._too_large()
        with _named(REQUEST):
            content = await self._in_thread(as_bytes, address, stored)
        metrics().resolved("fetched", len(content))
        loop = asyncio.get_running_loop()
        if not await loop.run_in_executor(self._pool, _is_request, content):
            raise BadRequest("A request_ref must lead to a generate request.", REQUEST)
        return content[:-1] + b"," + json.dumps(others).encode()[1:] if others else content

    async def _scanned(self, body: bytes) -> list[Found]:
        return await asyncio.get_running_loop().run_in_executor(self._pool, references, body)

    def _check_sum(self, lease: Lease, addresses: Sequence[Address]) -> None:
        """An object that occurs often is one in memory, and as many in the body that the engine gets."""
        if sum(lease.entries[address].size for address in addresses) > self._cache.limit:
            raise self._too_large()

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge(f"References of one request may have {self._cache.limit} bytes in base64 together.")

    def _address(self, text: str, path: str) -> Address:
        with _named(path):
            address = Address.parse(text)
            if not any(place.holds(address) for place in self._allowed):
                raise Flawed("is in no place that this engine may read")
        return address

    async def _leased(self, items: Mapping[Address, str]) -> Lease:
        """Hold the payloads of a request, and begin to fetch what is not here."""
        described: dict[Address, Stored] = {}
        lease = None
        while lease is None:
            known = {address for address in items if address in described or address in self._cache}
            described |= await self._described({address: items[address] for address in items if address not in known})
            sizes = {
                address: base64_size(described[address].size) if address in described else None for address in items
            }
            lease = await self._cache.lease(sizes)
        for address in lease.fresh:
            task = asyncio.create_task(self._fetch(address, described[address]))
            self._fetches.add(task)
            task.add_done_callback(self._fetches.discard)
        return lease

    async def _described(self, items: Mapping[Address, str]) -> dict[Address, Stored]:
        loop = asyncio.get_running_loop()
        looks = [loop.run_in_executor(self._pool, self._describe, address) for address in items]
        outcomes = await asyncio.gather(*looks, return_exceptions=True)
        described = {}
        for (address, path), outcome in zip(items.items(), outcomes, strict=True):
            with _named(path):
                if isinstance(outcome, BaseException):
                    raise outcome
                described[address] = outcome
        return described

    def _describe(self, address: Address) -> Stored:
        return self._describing.join(str(address), lambda: describe(self._store, address, self._model))

    async def _fetch(self, address: Address, stored: Stored) -> None:
        """Bring one payload into the cache. It goes on when the request that wanted it first is given up."""
        try:
            self._cache.bring(address, await self._in_thread(as_base64, address, stored))
        except Exception as error:
            self._cache.bring(address, error)
        metrics().holds(self._cache.used)

    async def _in_thread(
        self, work: Callable[[ObjectStore, Address, Stored, float], Value], address: Address, stored: Stored
    ) -> Value:
        deadline = time.monotonic() + self._seconds
        return await asyncio.get_running_loop().run_in_executor(
            self._pool, work, self._store, address, stored, deadline
        )

    async def _arrived(self, lease: Lease, address: Address, path: str) -> Pieces:
        with _named(path):
            pieces = await asyncio.shield(lease.entries[address].pieces)
        metrics().resolved("fetched" if address in lease.fresh else "cached", lease.entries[address].size)
        return pieces


def _is_request(content: bytes) -> bool:
    """Whether a stored text is an object in JSON that is no claim check itself."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return content.startswith(b'{"') and isinstance(value, dict) and REQUEST not in value


def _segments(body: bytes, found: Sequence[Found], payloads: Sequence[Pieces]) -> list[bytes]:
    """The body with payloads where references were found."""
    segments: list[bytes] = []
    at = 0
    for entry, pieces in zip(found, payloads, strict=True):
        segments += [body[at : entry.start], *pieces]
        at = entry.end
    return [*segments, body[at:]]


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Faults of a reference as errors that name the item."""
    try:
        yield
    except Gone:
        metrics().resolved("missing")
        raise FailedDependency(f"{path}: the referenced object is gone. Render again.", path) from None
    except Flawed as error:
        metrics().resolved("refused")
        raise BadRequest(f"The referenced object {error}.", path) from None
    except BadRequest as error:
        metrics().resolved("refused")
        raise BadRequest(error.message, path) from None
    except (BadGateway, Unavailable):
        metrics().resolved("unavailable")
        raise
