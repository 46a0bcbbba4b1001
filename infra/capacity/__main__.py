"""`python -m infra.capacity`: print the tables of docs/cost.md; with --write, put them there."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.capacity.tables import TABLES

PAGE = Path(__file__).parents[2] / "docs/cost.md"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m infra.capacity", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write them into docs/cost.md")
    given = parser.parse_args(arguments)
    made = {name: build() for name, build in TABLES.items()}
    if not given.write:
        print("\n\n".join(f"{name}\n\n{text}" for name, text in made.items()))
        return 0
    page = PAGE.read_text(encoding="utf-8")
    for name, text in made.items():
        page = re.sub(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", rf"\g<1>{text}\n\g<2>", page, flags=re.DOTALL)
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
