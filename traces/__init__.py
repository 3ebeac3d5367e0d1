"""What happened: a record written as it happens, readable after any crash, replayable. It does not score."""
