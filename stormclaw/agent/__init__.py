"""Thinks: the loop, one call, the session. Read `loop.py` first."""
