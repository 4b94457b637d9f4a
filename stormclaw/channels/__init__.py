"""Front ends without a screen, all on the same events."""
