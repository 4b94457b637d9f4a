"""A session as a file to read, to keep or to go on with elsewhere: one module a format."""
