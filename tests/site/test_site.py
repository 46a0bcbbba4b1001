"""The site: every page is in it, no link in it leads nowhere, and pictures are those of their texts."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.site.flows import FLOWS, picture
from infra.site.hooks import PAGES, ROOT, linked


@pytest.mark.parametrize("source", sorted(FLOWS.glob("*.d2")), ids=lambda path: path.stem)
def test_a_picture_is_that_of_its_text(source: Path) -> None:
    assert source.with_suffix(".svg").read_bytes() == picture(source)


def test_the_site_is_built_without_a_warning_and_its_links_hold(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} | {Path(target).stem for target in PAGES.values()}
    assert {page.stem for page in tmp_path.glob("*.html")} == pages | {"404"}
    for page in tmp_path.glob("*.html"):
        for target in re.findall(r'(?:href|src)="([^"#:]+)(?:#[^"]*)?"', page.read_text(encoding="utf-8")):
            if not target.startswith("/"):
                assert (page.parent / target).exists(), (page.name, target)


def test_links_lead_to_where_pages_are_in_the_site() -> None:
    assert linked("[a](docs/api.md), [b](SECURITY.md#x)", "index.md") == "[a](api.md), [b](security.md#x)"
    assert linked("[a](../CHANGELOG.md) [c](../infra/generate)", "api.md") == "[a](changelog.md) [c](generate.md)"
    assert linked("[d](kubernetes.yaml)", "generate.md") == "d"
    assert linked("![e](docs/page.png)", "index.md") == "![e](page.png)"
    assert linked("[f](https://a.example/b.md) [g](#h)", "api.md") == "[f](https://a.example/b.md) [g](#h)"
