"""Check what a build deploys against Lambda's limit, and print its sizes: `python layers/sizes.py .aws-sam/build`.

A function and all of its layers may have 250 MB unzipped, and each of them 250 MB by itself.
https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html
"""

from __future__ import annotations

import sys
from pathlib import Path

LIMIT = 250 << 20


def size(folder: Path) -> int:
    """Bytes of the files beneath a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _sizes(folder: str) -> dict[str, int]:
    found = sorted(path for path in Path(folder).iterdir() if path.is_dir() and path.name != "__pycache__")
    return {path.name: size(path) for path in found}


def main(built: str, functions: str = "functions") -> int:
    """Print a row a layer and a function; 1 above the limit."""
    layers = _sizes(built)
    codes = {f"function {name}": bytes_ for name, bytes_ in _sizes(functions).items()}
    for name, bytes_ in {**layers, **codes}.items():
        print(f"{name:20} {bytes_ / 1e6:7.1f} MB" if name in layers else f"{name:20} {bytes_ / 1e3:7.1f} kB")
    total = sum(layers.values()) + max(codes.values())
    print(f"{'together':20} {total / 1e6:7.1f} MB of {LIMIT / 1e6:.1f}")
    if total <= LIMIT:
        return 0
    if total - layers.get("MultimodalLayer", 0) <= LIMIT:
        print("warning: too much with Multimodal=true; leave VIDEO out, or deploy without", file=sys.stderr)
        return 0
    print("error: more than Lambda takes; the model's files are too large", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
