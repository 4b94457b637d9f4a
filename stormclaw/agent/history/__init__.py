"""The tree of a conversation, and going back in it, files included."""
