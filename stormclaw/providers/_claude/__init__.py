"""What `claude-cli` is made of."""
