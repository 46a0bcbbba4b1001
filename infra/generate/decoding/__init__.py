"""From logits to a sequence of tokens: sampling parameters, constraints, how a sequence ends."""
