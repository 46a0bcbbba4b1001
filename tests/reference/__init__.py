"""Comparing with the reference, vLLM's render server, at random: see `__main__`."""
