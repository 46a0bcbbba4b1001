"""Have the reference render the requests of `tests.multimodal.folders`, and keep what it answers.

    python -m tests.reference.answers DIR [NAME…]      # all folders, or those named; rewrites their answers

DIR is an installation of the reference, as of `tests.reference`; folders are written to DIR/models while served.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

from tests.multimodal.folders import ANSWERS
from tests.multimodal.folders.requests import kept, requests
from tests.multimodal.folders.table import FOLDERS
from tests.reference.exchanges import Client
from tests.reference.servers import reference

FLAGS = ("--trust-remote-code", "--trust-request-mm-kwargs")


def main(where: Path, names: list[str]) -> None:
    for name in names or list(FOLDERS):
        model = f"made-{name}"
        home = where / "models" / model
        shutil.rmtree(home, ignore_errors=True)
        FOLDERS[name].write(home)
        answers = {}
        try:
            with reference(where, model, FLAGS) as url:
                client = Client(url)
                for label, body in requests(FOLDERS[name]):
                    status, answer = client.post("/v1/chat/completions/render", {"model": model, **body})
                    answers[label] = kept(status, answer)
        finally:
            shutil.rmtree(home, ignore_errors=True)
        known = json.loads(ANSWERS.read_text(encoding="utf-8")) if ANSWERS.exists() else {}
        known[name] = answers
        ANSWERS.write_text(_text(known), encoding="utf-8")
        print(name, {label: answer["status"] for label, answer in answers.items()})


def _text(known: dict[str, dict[str, object]]) -> str:
    """A line an answer."""
    sets = []
    for name, answers in sorted(known.items()):
        lines = ",\n".join(f"  {json.dumps(label)}: {json.dumps(answer)}" for label, answer in answers.items())
        sets.append(f" {json.dumps(name)}: {{\n{lines}\n }}")
    return "{\n" + ",\n".join(sets) + "\n}\n"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), sys.argv[2:])
