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
FIRST_RETRY, LONGEST_RETRY = 10, 900
"""Seconds until a message that failed is seen again: four times as many after each failure."""

Json = dict[str, Any]


class Queue:
    """A queue by URL, over boto3 as the usual AWS_ variables configure it."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._made: Any = None

    def send_text(self, text: str) -> None:
        """Send one message as it is.

        Raises:
            Unavailable: SQS failed.
        """
        with _translated():
            self._client.send_message(QueueUrl=self._url, MessageBody=text)

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


def each_record(event: Json, work: Callable[[str], None], failed: Callable[[Json, Exception], None]) -> Json:
    """Work on every record of an SQS event; the partial batch response, which returns to the queue those that failed.

    Args:
        work: takes a record's body.
        failed: is told of the record and of what `work` raised, whatever it was: it is the queue's to try again, and in
            the end to set the message aside as a dead letter.
    """
    failures = []
    for record in event["Records"]:
        try:
            work(record["body"])
        except Exception as error:
            failed(record, error)
            failures.append({"itemIdentifier": record["messageId"]})
    return {"batchItemFailures": failures}


class Retries:
    """When a message that failed is seen again: soon at first, so that a short fault costs seconds, then later.

    Without it, it stays hidden for the queue's timeout, which is made for the longest work.
    """

    def __init__(self) -> None:
        self._urls: dict[str, str] = {}
        self._made: Any = None

    def later(self, record: Json) -> int | None:
        """Make a record visible again in a while; the seconds, None where it has not come from SQS itself.

        Raises:
            Unavailable: SQS failed; the message is seen when the queue's own time is over.
        """
        arn, receipt = record.get("eventSourceARN"), record.get("receiptHandle")
        if not arn or not receipt:
            return None
        count = int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))
        seconds = min(FIRST_RETRY << 2 * min(count - 1, 8), LONGEST_RETRY)
        with _translated():
            self._client.change_message_visibility(
                QueueUrl=self._url(arn), ReceiptHandle=receipt, VisibilityTimeout=seconds
            )
        return seconds

    def _url(self, arn: str) -> str:
        if arn not in self._urls:
            account, name = arn.split(":")[4:6]
            answer = self._client.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)
            self._urls[arn] = answer["QueueUrl"]
        return self._urls[arn]

    @property
    def _client(self) -> Any:
        if self._made is None:
            from boto3.session import Session

            self._made = Session().client("sqs")
        return self._made


def _dumped(message: Json) -> str:
    return json.dumps(message, separators=(",", ":"))


@contextmanager
def _translated() -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise Unavailable(f"The queue failed with {type(error).__name__}. Try again.") from None
