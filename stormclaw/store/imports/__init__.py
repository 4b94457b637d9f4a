"""Sessions of other assistants, and our own exports, as sessions here: one module a format."""
