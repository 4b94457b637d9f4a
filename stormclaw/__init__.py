"""StormClaw: a calm, fast, honest coding assistant for the terminal."""

__version__ = "0.1.0"
