"""The command line: one file per command. Only the called one is imported, so that ``makerspace --help`` is quick.

Every command ends with exit code 0 (done), 1 (it ran, and what it looked at failed) or 2 (it was asked wrongly, or
something that it needs is not installed). A wrong request is answered with one line on standard error. The command line
knows no domain and holds no logic that a program could not also call from the library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from .. import __version__
from ..containers.session import RuntimeUnavailable
from .common import Mistake, missing_extra

COMMANDS = {
    "list": (".listing:show", "List the environments."),
    "info": (".info:info", "Show one environment: tools, spaces, reward terms, sample instructions."),
    "play": (".play:play", "Call the tools of one task by hand."),
    "check": (".check:check", "Run the conformance checks of environments."),
    "train": (".train:train", "Train the bundled policy."),
    "eval": (".eval:evaluate", "Score a policy on held-out tasks."),
    "traces": (".traces:traces", "List, show and replay recorded episodes."),
    "sandbox": (".sandbox:sandbox", "List and remove sandbox containers, build their images."),
    "doctor": (".doctor:doctor", "Say what protects you on this machine, and what does not."),
}
"""Each command's place, ``"module:object"`` (a function or a ``typer.Typer``), and its line in the help."""


def build(called: str | None) -> typer.Typer:
    """Return the application with the called command loaded and a line of help for each of the others."""
    app = typer.Typer(
        name="makerspace",
        no_args_is_help=True,
        add_completion=False,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for name, (place, line) in COMMANDS.items():
        command = _load(place) if name == called else _nothing
        if isinstance(command, typer.Typer):
            app.add_typer(command, name=name, help=line)
        else:
            app.command(name, help=None if name == called and command.__doc__ else line)(command)
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with ``arguments`` (default: the process's own) and exit."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        build(words[0] if words else None)(words, prog_name="makerspace")
    except Mistake as mistake:
        _fail(str(mistake))
    except RuntimeUnavailable as absent:
        _fail(str(absent))
    except ModuleNotFoundError as missing:
        extra = missing_extra(missing.name)
        if extra is None:
            raise
        _fail(f"{missing.name} is not installed; this needs: pip install 'makerspace[{extra}]'")
    except FileNotFoundError as missing:
        if missing.errno is not None:  # the system's, not a sentence of ours
            raise
        _fail(str(missing))
    except BrokenPipeError:  # the reader of a pipe went away, as `| head` does
        sys.stderr.close()
        sys.exit(1)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"makerspace {__version__}")
        raise typer.Exit


def _load(place: str) -> Callable[..., Any] | typer.Typer:
    module, _, name = place.partition(":")
    return getattr(import_module(module, __package__), name)


def _root(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    """The workshop in which tool-using agents learn a trade."""


def _nothing() -> None:
    """Stand for a command that was not called."""


def _fail(line: str) -> None:
    typer.echo(f"makerspace: {line}", err=True)
    sys.exit(2)
