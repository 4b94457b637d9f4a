"""What programs that act by themselves have in common."""
