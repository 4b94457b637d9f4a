"""The terminal app: listens and draws. The only home of textual and rich."""
