"""Hands. One file, one tool, one `TOOL` constant."""
