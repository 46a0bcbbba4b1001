"""`python -m renderlayer.http.openapi > docs/openapi.json`."""

from __future__ import annotations

import json
import sys

from renderlayer.http.openapi.build import describe

if __name__ == "__main__":
    json.dump(describe(), sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
