"""file: URLs below the folder that the deployment names (wire.md 4.2)."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from renderlayer.errors import BadRequest


def read(url: str, allowed: str, most: int) -> bytes:
    """The content of the file.

    Args:
        allowed: folder below which files may be read; "" for none.
        most: bytes that it may have.

    Raises:
        BadRequest: no folder is allowed, the file lies outside of it once links are followed, or cannot be read.
    """
    if not allowed:
        raise BadRequest("Cannot load local files without `--allowed-local-media-path`.")
    parts = urlsplit(url)
    if parts.netloc not in ("", "localhost"):
        raise BadRequest("A file URL must not name a host.")
    root = Path(allowed).resolve()
    try:
        path = Path(unquote(parts.path)).resolve()
        if root not in path.parents:
            raise BadRequest("The file path <path> must be a subpath of `--allowed-local-media-path <path>`.")
        if not path.is_file() or path.stat().st_size > most:
            raise BadRequest(f"The file URL must name a file of at most {most} bytes.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise BadRequest("The file cannot be read.") from error
