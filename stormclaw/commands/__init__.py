"""Slash commands for every front end. One file, one `COMMAND`."""
