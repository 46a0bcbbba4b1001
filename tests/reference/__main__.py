"""Compare our server with the reference at random.

    python -m tests.reference --reference DIR                 start both for every model of MODELS, in turn
    python -m tests.reference --model M --urls URL URL         two servers that run already: the reference's, ours

DIR is an installation of the reference with scripts `render NAME PORT MODEL FLAGS…` and `stop NAME`, and models under
DIR/models. Prints what differs, reduced, and a summary; fails when something differs that `listed.txt` does not list.
Cases that differ are written to --out, one JSON object a line.
"""

from __future__ import annotations

import argparse
import base64
import collections
import io
import json
import random
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.reference.alternatives import forgiven, other_fault
from tests.reference.derenders import DerenderMaker
from tests.reference.dialects import Maker
from tests.reference.exchanges import Client, Exchange, Raw
from tests.reference.reducing import reduced
from tests.reference.servers import ours, reference

KINDS = (
    *(["chat"] * 6),
    *(["completion"] * 2),
    *(["responses"] * 4),
    *(["messages"] * 4),
    "tokenize",
    "detokenize",
    "odd",
    *(["derender"] * 5),
)
BODIES = (
    "",
    "x",
    "{",
    "[]",
    "null",
    "5",
    '"x"',
    "{}",
    "[{}]",
    '{"messages": }',
    '{"a": 1}{',
    '{"prompt": NaN}',
    "\ufeff{}",
)
HEADERS: tuple[dict[str, str], ...] = (
    *({"content-type": kind} for kind in ("text/plain", "", "application/json; charset=utf-8", "APPLICATION/JSON")),
    *({"x-request-id": name} for name in ("abc", "a b", "0" * 40)),
)
LISTED = Path(__file__).with_name("listed.txt")
SHOWN = 400


class Setup(NamedTuple):
    """A model as it is served; images are random pictures that its requests may hold."""

    model: str
    flags: tuple[str, ...] = ()
    images: bool = False

    @property
    def parser(self) -> str:
        return self.flags[self.flags.index("--tool-call-parser") + 1] if "--tool-call-parser" in self.flags else ""


def with_parsers(tool: str, reasoning: str = "") -> tuple[str, ...]:
    flags = ("--tool-call-parser", tool, "--enable-auto-tool-choice")
    return (*flags, "--reasoning-parser", reasoning) if reasoning else flags


MODELS = (
    Setup("tiny-qwen3", with_parsers("hermes", "qwen3")),
    Setup("tiny-qwen3"),
    Setup("tiny-gptoss", with_parsers("openai")),
    Setup("tiny-llama3.1", with_parsers("llama3_json")),
    Setup("tiny-deepseek", with_parsers("deepseek_v31", "deepseek_v3")),
    Setup("tiny-gemma3", images=True),
    Setup("tiny-qwen3-vl", images=True),
    Setup("fam-mistral3", with_parsers("mistral"), images=True),
)


def pictures(seed: int) -> tuple[str, ...]:
    """Data URLs of a few small pictures."""
    from PIL import Image

    source = random.Random(seed)
    urls = []
    for width, height, form in ((40, 30, "PNG"), (64, 64, "JPEG"), (100, 28, "PNG")):
        pixels = source.randbytes(width * height * 3)
        out = io.BytesIO()
        Image.frombytes("RGB", (width, height), pixels).save(out, form)
        urls.append(f"data:image/{form.lower()};base64,{base64.b64encode(out.getvalue()).decode()}")
    return tuple(urls)


def exchanges(setup: Setup, seed: int, client: Client) -> Iterator[Exchange]:
    """Endless random exchanges."""

    def encode(text: str) -> list[int]:
        answer = client.post("/tokenize", {"prompt": text, "add_special_tokens": False})
        return list(answer[1]["tokens"])

    maker = Maker(seed, setup.model, pictures(seed) if setup.images else ())
    derenders = DerenderMaker(seed + 1, setup.model, encode, setup.parser)
    chat, completions = "/v1/chat/completions", "/v1/completions"
    while True:
        kind = maker.pick(*KINDS)
        if kind == "derender":
            match maker.pick("chat", "chat", "completion", "chat stream", "chat stream", "completion stream"):
                case "chat":
                    yield Exchange(f"{chat}/derender", derenders.chat_whole())
                case "completion":
                    yield Exchange(f"{completions}/derender", derenders.completion_whole())
                case "chat stream":
                    yield Exchange(f"{chat}/derender", *derenders.stream(chat=True))
                case _:
                    yield Exchange(f"{completions}/derender", *derenders.stream(chat=False))
            continue
        if kind == "odd":
            yield odd(maker)
            continue
        make: dict[str, tuple[str, Any]] = {
            "chat": (f"{chat}/render", maker.chat),
            "completion": (f"{completions}/render", maker.completion),
            "responses": ("/v1/responses/render", maker.responses),
            "messages": ("/v1/messages/render", maker.anthropic),
            "tokenize": ("/tokenize", maker.tokenize),
            "detokenize": ("/detokenize", maker.detokenize),
        }
        path, body = make[kind]
        yield Exchange(path, body())


def odd(maker: Maker) -> Exchange:
    """A body that is no request, or a request with other headers."""
    paths = ("/v1/chat/completions/render", "/v1/completions/render", "/v1/responses/render", "/v1/messages/render")
    path = maker.pick(*paths, "/tokenize", "/detokenize", "/v1/chat/completions/derender")
    if maker.maybe(0.5):
        return Exchange(path, Raw(maker.pick(*BODIES)))
    body = {"messages": [{"role": "user", "content": "x"}], "request_id": "mine", "max_tokens": 5, "prompt": "x"}
    return Exchange(paths[0] if "derender" in path else path, {**body, "input": "x"}, headers=maker.pick(*HEADERS))


def listed() -> list[re.Pattern[str]]:
    """The differences that are meant."""
    out = []
    for line in LISTED.read_text(encoding="utf-8").splitlines():
        pattern, _, reason = line.partition("  # ")
        if pattern.strip() and not pattern.startswith("#"):
            if not reason.strip():
                raise SystemExit(f"a listed difference without a reason: {line}")
            out.append(re.compile(pattern.strip(), re.DOTALL))
    return out


class Run:
    """Counts and shows what differs."""

    def __init__(self, count: int, seed: int, out: Path | None) -> None:
        self.count, self.seed, self.out = count, seed, out
        self.listed = listed()
        self.totals: collections.Counter[str] = collections.Counter()

    def meant(self, setup: Setup, exchange: Exchange, difference: str) -> bool:
        line = f"{setup.model} {setup.parser} {exchange.path} {exchange.shown()} => {difference}"
        return any(pattern.search(line) for pattern in self.listed)

    def compare(self, setup: Setup, theirs: Client, mine: Client) -> None:
        """Exchanges of one model."""
        found: collections.Counter[str] = collections.Counter()
        shown: set[str] = set()
        begun = time.monotonic()
        for _, exchange in zip(range(self.count), exchanges(setup, self.seed, theirs), strict=False):
            found["all"] += 1
            difference = exchange.difference(theirs, mine)
            if difference is None:
                continue
            if other_fault(exchange, theirs, mine) or (setup.parser and forgiven(exchange, theirs, mine)):
                continue
            if self.meant(setup, exchange, difference):
                found["listed"] += 1
                continue
            self._tell(setup, exchange, theirs, mine, shown, found)
        took = time.monotonic() - begun
        print(f"{setup.model} {' '.join(setup.flags)}: {dict(found)} in {took:.0f} s", flush=True)
        self.totals += found

    def _tell(
        self, setup: Setup, exchange: Exchange, theirs: Client, mine: Client, shown: set[str], found: Any
    ) -> None:
        def differs(candidate: Exchange) -> bool:
            difference = candidate.difference(theirs, mine)
            if difference is None or self.meant(setup, candidate, difference):
                return False
            if other_fault(candidate, theirs, mine):
                return False
            return not (setup.parser and forgiven(candidate, theirs, mine))

        smallest = reduced(exchange, differs)
        difference = smallest.difference(theirs, mine)
        if difference is None:  # not the same twice
            found["unsteady"] += 1
            return
        found["unlisted"] += 1
        key = re.sub(r"\d+|'[^']*'", "", smallest.path + difference)[:90]
        if key in shown:
            return
        shown.add(key)
        print(f"DIFFERS {setup.model} {setup.parser} {smallest.shown()[:SHOWN]}\n    {difference}", flush=True)
        if self.out:
            case = {"model": setup.model, "flags": setup.flags, **json.loads(smallest.shown()), "diff": difference}
            with self.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(case) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, help="where the reference is installed")
    parser.add_argument("--urls", nargs=2, metavar="URL", help="the reference and ours, of one --model")
    parser.add_argument("--model", default="", help="a regular expression on the models; with --urls, the model")
    parser.add_argument("--count", type=int, default=700, help="exchanges a model")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="file for the cases that differ")
    given = parser.parse_args()
    run = Run(given.count, given.seed, given.out)
    chosen = [setup for setup in MODELS if re.search(given.model, f"{setup.model} {setup.parser}".strip())]
    for setup in chosen:
        if given.urls:
            run.compare(setup, *map(Client, given.urls))
            break
        started = (given.reference.resolve(), setup.model, setup.flags)
        with reference(*started) as theirs, ours(*started) as mine:
            run.compare(setup, Client(theirs), Client(mine))
    print(f"seed {given.seed}: {dict(run.totals)}")
    return 1 if run.totals["unlisted"] else 0


if __name__ == "__main__":
    sys.exit(main())
