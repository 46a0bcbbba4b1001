"""Amazon SQS: sending claim checks, and answering the events in which they come."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from renderlayer.errors import Unavailable

AT_A_TIME = 10
"""Messages a call of SQS takes."""
LONGEST_DELAY = 900
"""Seconds that SQS holds a message back at most."""

Json = dict[str, Any]


class Queue:
    """A queue by URL, over boto3 as the usual AWS_ variables configure it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._made: Any = None

    def send(self, messages: Sequence[Json], delay: int = 0) -> None:
        """Send messages, each at least once.

        Args:
            delay: seconds before they can be received.

        Raises:
            Unavailable: SQS failed; some of them may have been sent.
        """
        rest = iter(messages)
        while chunk := list(islice(rest, AT_A_TIME)):
            entries = [
                {"Id": str(at), "MessageBody": _dumped(message), "DelaySeconds": min(delay, LONGEST_DELAY)}
                for at, message in enumerate(chunk)
            ]
            with _translated():
                answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
            if answer.get("Failed"):
                raise Unavailable("The queue refused a message. Try again.")

    @property
    def _client(self) -> Any:
        with self._lock:
            if self._made is None:
                from boto3.session import Session
                from botocore.config import Config

                config = Config(retries={"total_max_attempts": 4, "mode": "standard"})
                self._made = Session().client("sqs", config=config)
        return self._made


def each_record(event: Json, work: Callable[[Json], None], failed: Callable[[Json, Exception], None]) -> Json:
    """Work on every record of an SQS event; the partial batch response, which returns to the queue those that failed.

    Args:
        work: takes a record's body as JSON.
        failed: is told of what `work` raised, whatever it was: it is the queue's to try again, and in the end to set
            the message aside as a dead letter.
    """
    failures = []
    for record in event["Records"]:
        body = json.loads(record["body"])
        try:
            work(body)
        except Exception as error:
            failed(body, error)
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


def _dumped(message: Json) -> str:
    return json.dumps(message, separators=(",", ":"))


@contextmanager
def _translated() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Unavailable(f"The queue failed with {type(error).__name__}. Try again.") from None
