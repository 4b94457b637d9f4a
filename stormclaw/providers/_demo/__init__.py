"""What the scripted demo is made of."""
