"""`make bench`: one table of ratios, into docs/performance.md with a plot; `make bench-check`: none is much worse.

Every figure is a ratio to a peer that was measured in turns with it, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench.ratios import Ratio

ROOT = Path(__file__).resolve().parents[2]
PAGE, PLOT, COMMITTED = ROOT / "docs/performance.md", ROOT / "docs/performance.svg", ROOT / "tests/bench/ratios.json"
WORSE = 1.2
"""How much worse than the committed one a ratio may be."""
WIDTH, ROW, LEFT = 760, 26, 400


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.report", description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where a ratio is 20 %% worse than the committed one")
    parser.add_argument("--reference", type=Path, help="an installation of the reference (docs/reference.md)")
    given = parser.parse_args(arguments)
    ratios = list(measured(given.reference))
    print(table(ratios))
    if given.check:
        complaints = list(worse(ratios, json.loads(COMMITTED.read_text())))
        print("\n".join(complaints), file=sys.stderr)
        return 1 if complaints else 0
    write(ratios)
    return 0


def measured(where: Path | None) -> Iterator[Ratio]:
    from renderlayer.bundle.pack import pack
    from tests.bench.__main__ import default_model
    from tests.bench.ratios import beside_reference, cold_starts, requests

    folder = default_model()
    with TemporaryDirectory() as scratch:
        bundle = Path(scratch) / "bundle"
        pack(folder, bundle)
        yield from cold_starts(folder, bundle)
        yield from requests(folder, bundle)
    if where is not None:
        yield from beside_reference(where.resolve())


def worse(ratios: Iterable[Ratio], committed: dict[str, float]) -> Iterator[str]:
    """A line for each ratio that is much worse than it was."""
    for ratio in ratios:
        before = committed.get(key(ratio))
        if before is not None and ratio.median > before * WORSE:
            yield f"{key(ratio)}: {ratio.median:.2f}, was {before:.2f}"


def key(ratio: Ratio) -> str:
    return f"{ratio.name.strip()} / {ratio.peer.partition(',')[0]}"


def table(ratios: Iterable[Ratio]) -> str:
    """Markdown; less is better."""
    lines = ["| figure | beside | min | median | max |", "|---|---|---|---|---|"]
    for ratio in ratios:
        figures = f"{min(ratio.values):.2f} | {ratio.median:.2f} | {max(ratio.values):.2f}"
        lines.append(f"| {ratio.name.strip()} | {ratio.peer.partition(',')[0]} | {figures} |")
    return "\n".join(lines)


def write(ratios: list[Ratio]) -> None:
    """The table and the plot into the page, the medians beside the benchmarks; what was not measured keeps its own."""
    medians = json.loads(COMMITTED.read_text()) if COMMITTED.exists() else {}
    medians |= {key(ratio): round(ratio.median, 6) for ratio in ratios}
    COMMITTED.write_text(json.dumps(medians, indent=2) + "\n")
    page = PAGE.read_text(encoding="utf-8")
    found = re.sub(r"(<!-- ratios -->\n).*?(<!-- /ratios -->)", rf"\g<1>{table(ratios)}\n\g<2>", page, flags=re.DOTALL)
    PAGE.write_text(found, encoding="utf-8")
    PLOT.write_text(plot(ratios), encoding="utf-8")


def plot(ratios: Sequence[Ratio]) -> str:
    """An SVG: for each ratio a bar to its median and a line from its least to its most; 1 is the peer."""
    most = max(max(ratio.values) for ratio in ratios) * 1.05

    def across(value: float) -> float:
        return LEFT + (WIDTH - LEFT - 50) * value / most

    height = ROW * (len(ratios) + 1)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
    ]
    for place, ratio in enumerate(ratios):
        middle = ROW * place + ROW // 2
        parts += [
            f'<text x="{LEFT - 8}" y="{middle + 4}" text-anchor="end">{key(ratio)}</text>',
            f'<rect x="{LEFT}" y="{middle - 7}" width="{across(ratio.median) - LEFT:.1f}" height="14" fill="#7aa6da"/>',
            f'<line x1="{across(min(ratio.values)):.1f}" x2="{across(max(ratio.values)):.1f}" y1="{middle}" '
            f'y2="{middle}" stroke="#222" stroke-width="2"/>',
            f'<text x="{across(max(ratio.values)) + 6:.1f}" y="{middle + 4}">{ratio.median:.2f}</text>',
        ]
    one = across(1)
    parts += [
        f'<line x1="{one:.1f}" x2="{one:.1f}" y1="0" y2="{height - ROW}" stroke="#c33" stroke-dasharray="4 3"/>',
        f'<text x="{one:.1f}" y="{height - 8}" text-anchor="middle" fill="#c33">1 = the peer</text>',
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main())
