"""What `codex-cli` is made of."""
