"""Flags of `vllm serve` and `vllm launch render` that mean nothing to a renderer: taken, and said to be ignored.

A flag that would change answers and is not known here is no such flag: it is refused like any other unknown one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

_SWITCHES = """
    aggregate-engine-logging async-scheduling disable-access-log-for-endpoints disable-custom-all-reduce
    disable-fastapi-docs disable-frontend-multiprocessing disable-log-requests disable-log-stats
    disable-uvicorn-access-log enable-chunked-prefill enable-eplb enable-expert-parallel
    enable-force-include-usage enable-log-outputs enable-log-requests enable-prefix-caching
    enable-prompt-tokens-details enable-scale-out enable-server-load-tracking enforce-eager mm-encoder-only
    skip-mm-profiling trust-remote-code
"""
_VALUES = """
    all2all-backend api-server-count attention-backend block-size code-revision compilation-config
    config-format cpu-offload-gb cudagraph-capture-sizes data-parallel-address data-parallel-backend
    data-parallel-rank data-parallel-size data-parallel-size-local device-ids distributed-executor-backend
    download-dir dtype ec-transfer-config gpu-memory-utilization hf-token kv-cache-dtype kv-cache-memory-bytes
    kv-transfer-config load-format log-config-file max-log-len max-num-batched-tokens max-num-seqs
    max-parallel-loading-workers max-seq-len-to-capture mm-encoder-attn-backend mm-encoder-tp-mode
    mm-processor-cache-gb mm-processor-cache-type model-loader-extra-config moe-backend
    num-gpu-blocks-override optimization-level otlp-traces-endpoint pipeline-parallel-size quantization
    renderer-num-workers runner scheduling-policy seed speculative-config swap-space tensor-parallel-size
    tokenizer-mode uvicorn-log-level
"""
_SHORT = {
    "data-parallel-size": "-dp",
    "enable-expert-parallel": "-ep",
    "optimization-level": "-O",
    "pipeline-parallel-size": "-pp",
    "quantization": "-q",
    "tensor-parallel-size": "-tp",
}


class _Ignore(argparse.Action):
    """Notes that a flag was given, and says so once."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        print(f"{option} is for an engine and is ignored", file=sys.stderr)


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """Take the flags that callers of vLLM pass to it, without an effect beyond a line on standard error.

    Abbreviations end here: the beginning of an ignored flag may be one that must not be ignored.
    """
    parser.allow_abbrev = False
    for name in _SWITCHES.split():
        parser.add_argument(*_options(name), f"--no-{name}", action=_Ignore, nargs=0, **_HIDDEN)
    for name in _VALUES.split():
        parser.add_argument(*_options(name), action=_Ignore, **_HIDDEN)


_HIDDEN: dict[str, Any] = {"dest": argparse.SUPPRESS, "default": argparse.SUPPRESS, "help": argparse.SUPPRESS}


def _options(name: str) -> Sequence[str]:
    return [f"--{name}", *filter(None, [_SHORT.get(name)])]
