"""A bash: its grammar, its expansions, and the machine that runs them over files in memory."""
