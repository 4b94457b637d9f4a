"""What the model sees of a conversation."""
