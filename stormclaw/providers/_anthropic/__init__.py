"""What `anthropic` and `bedrock` are made of."""
