"""Chat completions and completions: whole answers, single chunks, whole streams (docs/wire.md 6)."""
