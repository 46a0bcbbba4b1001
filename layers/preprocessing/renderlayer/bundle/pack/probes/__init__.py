"""What packing tries a model with: conversations, texts, characters."""
