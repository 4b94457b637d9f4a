"""Snapshots of a workspace in a git store outside of it; the door is `store/checkpoints.py`."""
