"""The incremental machine that every format runs on: events, markers, states that stop and go on."""
