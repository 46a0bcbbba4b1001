"""Under Lambda: events in, results out, and the runtime that streams."""
