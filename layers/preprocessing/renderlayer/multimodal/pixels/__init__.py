"""Step three: from decoded images to tensors, bit for bit as the reference (wire.md 4.7).

numpy and torch are imported here and nowhere before.
"""
