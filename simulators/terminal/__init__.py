"""A terminal: a bash with GNU's programs, over files in memory, inside this process.

`app` is the application; `shell` runs one command line; `bash/` is the language, `commands/` the programs, `files` the
disk.
"""
