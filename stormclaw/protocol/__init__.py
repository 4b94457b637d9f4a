"""Words: frozen values and the few Protocols everybody speaks in. Standard library only, no I/O."""
