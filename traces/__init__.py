"""What happened: a record written as it happens, readable after any crash, replayable, exportable. It does not know how to score."""
