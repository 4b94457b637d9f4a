"""What providers made of others have in common."""
