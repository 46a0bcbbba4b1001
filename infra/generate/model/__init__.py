"""The model of the embedded engine: weights, the forward pass, and media off the wire."""
