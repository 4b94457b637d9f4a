"""Reads shell lines: what every command of a line would do, by tables and by rules."""
