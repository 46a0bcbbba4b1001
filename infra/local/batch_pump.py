"""Lambda's part between SQS and the functions: messages become events, what fails goes back to its queue."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from infra.local.events import Context

Handler = Callable[[dict[str, Any], Any], Any]

RECEIVED = 10
WAIT = 1
"""Seconds that an empty queue is listened to."""


@dataclass(frozen=True)
class EventSource:
    """An event source source.

    Attributes:
        queue: URL of the queue.
        handler: called with an event of some messages.
        workers: calls at a time.
        messages: most messages an event.
    """

    name: str
    queue: str
    handler: Handler
    workers: int = 1
    messages: int = RECEIVED


class Pump:
    """Polls queues and calls handlers, in threads, until it is stopped. A context manager.

    A message whose handling failed is visible again at once: nobody waits on a laptop.
    """

    def __init__(self, sqs: Any, sources: list[EventSource]) -> None:
        self._sqs = sqs
        self._stopped = threading.Event()
        self._threads = [
            threading.Thread(target=self._poll, args=(source,), name=source.name)
            for source in sources
            for _ in range(source.workers)
        ]

    def __enter__(self) -> Pump:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *details: object) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    def _poll(self, source: EventSource) -> None:
        while not self._stopped.is_set():
            answer = self._sqs.receive_message(
                QueueUrl=source.queue, MaxNumberOfMessages=source.messages, WaitTimeSeconds=WAIT
            )
            messages = answer.get("Messages", [])
            if messages:
                self._handle(source, messages)

    def _handle(self, source: EventSource, messages: list[Mapping[str, Any]]) -> None:
        try:
            failed = _failed(source.handler(sqs_event(messages), Context(source.name)))
        except Exception:
            traceback.print_exc()
            failed = {message["MessageId"] for message in messages}
        for message in messages:
            receipt = {"QueueUrl": source.queue, "ReceiptHandle": message["ReceiptHandle"]}
            if message["MessageId"] in failed:
                self._sqs.change_message_visibility(**receipt, VisibilityTimeout=0)
            else:
                self._sqs.delete_message(**receipt)


def sqs_event(messages: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The event for some messages.

    Its form: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message.get("Attributes", {}),
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "awsRegion": "local",
            }
            for message in messages
        ]
    }


def _failed(response: Any) -> set[str]:
    return {item["itemIdentifier"] for item in (response or {}).get("batchItemFailures", [])}
