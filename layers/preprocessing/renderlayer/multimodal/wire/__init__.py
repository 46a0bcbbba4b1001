"""Multimodal features as they travel: hashes, tensors, payload modes (docs/wire.md 4)."""
