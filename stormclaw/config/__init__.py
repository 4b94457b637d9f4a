"""Settings: one typed value, layered from files, environment and flags, with the origin of each."""
