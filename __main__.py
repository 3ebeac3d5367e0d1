"""``python -m makerspace``: the command line."""

from .cli import main

main()
