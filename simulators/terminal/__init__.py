"""A terminal: a shell over an in-memory file system."""
