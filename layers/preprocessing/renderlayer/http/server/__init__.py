"""Under uvicorn: flags, log lines, checks at the start."""
