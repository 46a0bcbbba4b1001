"""What opening a bundle imports: a cold start pays for each of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from renderlayer.bundle.pack import pack
from tests.bundle.conftest import MakeFolder

SCRIPT = """
import sys
from renderlayer.bundle import open_bundle
model = open_bundle(sys.argv[1])
text = model.templates.resolve(None, tools=False).render([{"role": "user", "content": "Hi"}], None, None, {})
ids = model.tokenizer.encode(text)
assert model.tokenizer.decode(ids) == text
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
HEAVY = {
    "jinja2",
    "tokenizers",
    "fastokens",
    "numpy",
    "transformers",
    "torch",
    "PIL",
    "boto3",
    "huggingface_hub",
    "pydantic",
}


def test_a_first_answer_loads_only_the_chosen_engines(make_folder: MakeFolder, tmp_path: Path) -> None:
    bundle = pack(make_folder(), tmp_path / "out")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, bundle], capture_output=True, text=True, check=True, timeout=300
    )
    loaded = set(run.stdout.split())
    assert {"kitoken", "minijinja"} <= loaded
    assert not loaded & HEAVY
