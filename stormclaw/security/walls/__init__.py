"""The kernel's walls around a shell command, and the one door in them."""
