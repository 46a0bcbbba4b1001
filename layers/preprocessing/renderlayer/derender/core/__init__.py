"""What both APIs' answers and all streams share: token text, log-probabilities, stop strings, stream states."""
