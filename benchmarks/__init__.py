"""Figures of speed, each beside a bare Textual app or a new session of the same minutes."""
