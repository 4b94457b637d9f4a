"""What `llama`, the model on this machine, is made of."""
