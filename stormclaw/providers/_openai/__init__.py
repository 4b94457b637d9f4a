"""What `openai-compatible` is made of."""
