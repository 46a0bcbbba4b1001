"""The generate service on a laptop: vLLM's scale-out endpoint on transformers and torch, CPU only (wire.md 5).

`python -m infra.generate serve MODEL` starts it. In production the same endpoint is vLLM itself.
"""
