"""What the registry of models is made of."""
