"""Dead letters: what failed repeatedly is given up, so that its batch ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from renderlayer.batch.steps.join import Joiner
from renderlayer.batch.steps.split import Splitter
from renderlayer.batch.steps.work import Worker
from renderlayer.batch.storage import keys

Json = dict[str, Any]


@dataclass(frozen=True)
class DeadLetterHandler:
    """Gives up messages of any step: a shard's lines fail; a file that is not split or joined fails its batch."""

    splitter: Splitter
    worker: Worker
    joiner: Joiner

    def receive(self, message: Json) -> list[Json]:
        """Give up a dead letter.

        Returns:
            What happened to each shard or batch, for the log.
        """
        if "shard" in message:
            return [self.worker.abandon(message)]
        of_parts = any(key.startswith(keys.PARTS) for key in keys.in_event(message))
        return (self.joiner if of_parts else self.splitter).abandon(message)
