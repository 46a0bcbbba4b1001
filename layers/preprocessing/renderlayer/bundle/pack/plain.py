"""The compiled tokenizer without added tokens, for families whose texts must stay texts (`bundle.plain`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from renderlayer.bundle.plain import PLAIN_FILE, bare, without_added


def describe_plain(out: Path, texts: Sequence[str]) -> dict[str, Any]:
    """Write the file and keep it if it equals `tokenizers` on `texts`; returns the evidence."""
    from kitoken import Kitoken

    expected = [encoding.ids for encoding in without_added(out / "tokenizer.json").encode_batch(texts)]
    written, file = out / "bare.json", out / PLAIN_FILE
    written.write_text(json.dumps(bare(out / "tokenizer.json")), encoding="utf-8")
    try:
        Kitoken.from_tokenizers_file(str(written)).to_file(str(file))
        encode = Kitoken.from_file(str(file)).encode
        difference = next(
            (text[:80] for text, ids in zip(texts, expected, strict=True) if encode(text, True) != ids), None
        )
    except Exception as error:
        difference = f"does not load: {error}"
    finally:
        written.unlink()
    if difference is not None:
        file.unlink(missing_ok=True)
    return {"equal": difference is None, "texts": len(texts), "difference": difference or ""}
