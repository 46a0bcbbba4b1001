"""The engine's own flags; the others are those of the settings table. Names are the reference's (wire.md 8)."""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, field, fields
from typing import Any

from renderlayer import flags
from renderlayer.http.server.address import add_address

# Flags of the reference's engine that callers pass by habit, with the number of their values. Accepted, without effect.
IGNORED: dict[str, int] = {
    "--enable-scale-out": 0,
    "--enforce-eager": 0,
    "--enable-prefix-caching": 0,
    "--no-enable-prefix-caching": 0,
    "--enable-chunked-prefill": 0,
    "--no-enable-chunked-prefill": 0,
    "--disable-log-stats": 0,
    "--enable-log-requests": 0,
    "--gpu-memory-utilization": 1,
    "--kv-cache-memory-bytes": 1,
    "--tensor-parallel-size": 1,
    "--pipeline-parallel-size": 1,
    "--data-parallel-size": 1,
    "--api-server-count": 1,
    "--block-size": 1,
    "--scheduling-policy": 1,
    "--compilation-config": 1,
}


@dataclass(frozen=True)
class Options:
    """How the engine runs.

    Attributes:
        max_num_seqs: most sequences generated at a time.
        max_num_batched_tokens: most prompt tokens computed between two tokens of the running sequences.
        dtype: of the weights and the computation; "auto" is float32.
        load_format: "auto", or "dummy" for random weights.
        enable_trace_replay: let requests dictate their tokens (trace_decode_token_ids).
        ec_transfer_config: encoder-cache connector and role; {} for none.
        middleware: import paths of ASGI middlewares (a class, or a function that wraps an application).
    """

    max_num_seqs: int = 16
    max_num_batched_tokens: int = 512
    dtype: str = "auto"
    load_format: str = "auto"
    enable_trace_replay: bool = False
    ec_transfer_config: dict[str, Any] = field(default_factory=dict)
    middleware: list[str] = field(default_factory=list)

    @classmethod
    def from_arguments(cls, arguments: argparse.Namespace) -> Options:
        return cls(**{row.name: getattr(arguments, row.name) for row in fields(cls)})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the model, the flags of the settings, the address to listen on, and the engine's own flags."""
    flags.add_flags(parser)
    add_address(parser)
    add_flags(parser)


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the engine's flags, and those that it accepts without effect."""
    default = Options()
    add = parser.add_argument_group("engine").add_argument
    add("--max-num-seqs", type=_positive, default=default.max_num_seqs, help="most sequences generated at a time")
    add(
        "--max-num-batched-tokens",
        type=_positive,
        default=default.max_num_batched_tokens,
        help="most prompt tokens computed between two tokens of the running sequences",
    )
    add("--dtype", choices=("auto", "float32", "bfloat16", "float16"), default="auto", help="auto: float32")
    add("--load-format", choices=("auto", "dummy"), default="auto", help="dummy: random weights")
    add("--enable-trace-replay", action="store_true", help="let requests dictate their tokens")
    add("--ec-transfer-config", type=json.loads, default={}, help="encoder-cache connector and role, as JSON")
    add("--middleware", action="append", default=[], help="import path of an ASGI middleware; repeatable")
    accepted = parser.add_argument_group("accepted for compatibility, without effect")
    for flag, count in IGNORED.items():
        if count:
            accepted.add_argument(flag, dest="ignored", metavar="VALUE", default=argparse.SUPPRESS)
        else:
            accepted.add_argument(flag, dest="ignored", action="store_true", default=argparse.SUPPRESS)


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} is less than 1")
    return value
