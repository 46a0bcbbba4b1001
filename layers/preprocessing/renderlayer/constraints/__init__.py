"""What holds an output to its form: a request's own wish, and what the parsers need of it (docs/wire.md 2.6, 2.7)."""
