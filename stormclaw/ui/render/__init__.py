"""Drawing: values in, lines of exactly the asked width out. No widget, no state."""
