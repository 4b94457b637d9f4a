"""Context policies: one file, one way to keep things off the wire, one `POLICY`."""
