"""From a choice's token ids to its text: decoding, the stop token, the stop strings (wire.md 6.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from renderlayer.derender.core.detokenize import Detokenizer
from renderlayer.derender.core.options import Options
from renderlayer.derender.core.stop import EndOfText, StopReason, StopStringBuffer, stop_token
from renderlayer.parsers.core.events import Piece
from renderlayer.served_model import ServedModel
from renderlayer.wire.derender import GenerateChoice, GenerateChunkChoice


@dataclass(frozen=True)
class Output:
    """What tokens say, one by one: "" where a token completes no character or is no text."""

    pieces: Sequence[Piece]
    stop_reason: StopReason

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.pieces)


class OutputDecoder:
    """Decodes one output sequence, as it comes.

    Args:
        hold: holds back stop strings; None where text is sent at once (streams of single calls).
    """

    def __init__(
        self, detokenizer: Detokenizer, options: Options, server: ServedModel, hold: StopStringBuffer | None = None
    ) -> None:
        self.detokenizer = detokenizer
        self._options = options
        self._ends = EndOfText(server.model.facts.eos_token_id, server.eos_token_ids)
        self._hold = hold

    def step(self, choice: GenerateChoice | GenerateChunkChoice) -> Output:
        """Decode what a choice brings; with its finish reason the stop token is left out."""
        token_ids = choice.token_ids or []
        last = token_ids[-1] if token_ids else None
        dropped, reason = stop_token(choice.finish_reason, choice.stop_reason, last, self._options, self._ends)
        kept = token_ids[:-1] if dropped else token_ids
        pieces = [(token_id, self.detokenizer.push(token_id)) for token_id in kept]
        if last is not None and dropped:
            pieces.append((last, ""))
        if self._hold is None:
            return Output(pieces, reason)
        certain, matched = self._hold.step(pieces, choice.finish_reason, choice.stop_reason)
        return Output(certain, reason if matched is None else matched)


def whole_output(choice: GenerateChoice, prompt: Sequence[int] | None, options: Options, server: ServedModel) -> Output:
    """Decode a whole choice and cut it at a stop string."""
    detokenizer = Detokenizer.after_prompt(server.model.vocabulary, options.skip_special, prompt)
    hold = None if choice.finish_reason is None else StopStringBuffer(options)
    return OutputDecoder(detokenizer, options, server, hold).step(choice)
