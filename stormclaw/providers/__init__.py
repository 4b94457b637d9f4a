"""Talks to models. A module's name is the `kind:` of the config; imported only when used."""
