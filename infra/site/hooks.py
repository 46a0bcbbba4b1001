"""Hooks of mkdocs: the repository's other pages join those of docs/, and links between them hold in the site.

https://www.mkdocs.org/user-guide/configuration/#hooks
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "README.md": "index.md",
    "SECURITY.md": "security.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "infra/README.md": "infra.md",
    "infra/generate/README.md": "generate.md",
}
"""Pages outside of docs/ by their place in the site."""
FOLDERS = {"infra": "infra.md", "infra/generate": "generate.md"}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(((?!https?:|#)[^)#\s]+)(#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add them."""
    from mkdocs.structure.files import File

    for source, target in PAGES.items():
        files.append(File.generated(config, target, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Lead links to where pages are in the site."""
    return linked(markdown, page.file.src_uri)


def linked(markdown: str, place: str) -> str:
    """The text of a page of the site with its links; files that are no part of it are named without one.

    Args:
        place: of the page in the site.
    """
    origin = next((source for source, target in PAGES.items() if target == place), f"docs/{place}")

    def led(match: re.Match[str]) -> str:
        image, text, target, anchor = match.groups()
        found = site_path(posixpath.normpath(posixpath.join(posixpath.dirname(origin), target)))
        return f"{image}[{text}]({found}{anchor or ''})" if found else text

    return LINK.sub(led, markdown)


def site_path(path: str) -> str | None:
    """The place in the site of a file of the repository; None for one that is no part of it."""
    if path in PAGES or path in FOLDERS:
        return PAGES.get(path) or FOLDERS[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else None
