"""What a shell program is made of: words and commands, as plain frozen data. No meaning lives here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    """Text as it stands; `quoted` text is never split, globbed or brace-expanded."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name` or `${name[index] operator argument}`; `length` for `${#name}`, `indirect` for `${!name}`."""

    name: str
    index: Word | None = None
    operator: str = ""
    argument: Word | None = None
    second: Word | None = None
    length: bool = False
    indirect: bool = False
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(...)` or backquotes."""

    body: Sequence
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$((...))`: a text that is expanded, then calculated."""

    expression: Word
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Process:
    """`<(...)` or `>(...)`."""

    body: Sequence
    output: bool = False


Part = Literal | Parameter | Substitution | Arithmetic | Process


@dataclass(frozen=True, slots=True)
class Word:
    """One word: parts side by side."""

    parts: tuple[Part, ...] = ()

    def literal(self) -> str | None:
        """Return the text of a word that is one unquoted literal, else `None`."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only.text if isinstance(only, Literal) and not only.quoted else None


@dataclass(frozen=True, slots=True)
class Redirect:
    """`fd operator target`; for here-documents the target is the text."""

    fd: int
    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Assignment:
    """`name[index]=value`, `name+=value` or `name=(values)`."""

    name: str
    value: Word | tuple[Word, ...]
    index: Word | None = None
    append: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    """Assignments, words and redirections: a command as one types it."""

    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class If:
    """Conditions with their bodies, and what else to do."""

    branches: tuple[tuple[Sequence, Sequence], ...]
    otherwise: Sequence | None


@dataclass(frozen=True, slots=True)
class For:
    """`for name in words`; without words, over the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Sequence


@dataclass(frozen=True, slots=True)
class Count:
    """`for ((start; test; step))`."""

    start: Word
    test: Word
    step: Word
    body: Sequence


@dataclass(frozen=True, slots=True)
class While:
    """`while` or, with `until`, its opposite."""

    condition: Sequence
    body: Sequence
    until: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A word, and patterns with a body and the terminator (`;;`, `;&` or `;;&`)."""

    word: Word
    clauses: tuple[tuple[tuple[Word, ...], Sequence, str], ...]


@dataclass(frozen=True, slots=True)
class Group:
    """`{ ...; }`."""

    body: Sequence


@dataclass(frozen=True, slots=True)
class Subshell:
    """`( ... )`."""

    body: Sequence


@dataclass(frozen=True, slots=True)
class Function:
    """`name() command`."""

    name: str
    body: Command


@dataclass(frozen=True, slots=True)
class Calculation:
    """`(( expression ))`."""

    expression: Word


@dataclass(frozen=True, slots=True)
class Condition:
    """`[[ ... ]]`: an operator (a test, `&&`, `||`, `!`, or "" for a plain word) over conditions or words."""

    operator: str
    operands: tuple[Condition | Word, ...]


@dataclass(frozen=True, slots=True)
class Redirected:
    """A compound command with redirections."""

    command: Command
    redirects: tuple[Redirect, ...]


Command = Simple | If | For | Count | While | Case | Group | Subshell | Function | Calculation | Condition | Redirected


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Commands joined by `|`; `merged[i]` says that command i sends its errors along (`|&`)."""

    commands: tuple[Command, ...]
    merged: tuple[bool, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Chain:
    """Pipelines joined by `&&` and `||`: the first has the operator ""."""

    links: tuple[tuple[str, Pipeline], ...]
    background: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """Chains one after another."""

    chains: tuple[Chain, ...] = ()
