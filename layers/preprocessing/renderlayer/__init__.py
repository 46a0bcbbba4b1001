"""The CPU half of LLM serving: requests to token ids, token ids to answers (vLLM's scale-out wire, 0.33.0)."""

__version__ = "0.2.0"
