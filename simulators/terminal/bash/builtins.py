"""The builtins: commands that change the shell itself, and a few that bash has within it.

Each is a function of the machine and the arguments that returns an exit code. `test` lives in its own module, `echo` and `printf` with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ..files import Folder, normal
from ..streams import Source
from ..text import to_text
from .arithmetic import calculate
from .machine import Command, Jump, Leave, Machine, Return
from .variables import ReadOnly

IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
OPTIONS = {"e": "errexit", "u": "nounset", "f": "noglob", "C": "noclobber", "a": "allexport", "x": "xtrace", "v": "verbose", "n": "noexec", "h": "hashall", "b": "notify", "m": "monitor"}
BUILTINS: dict[str, Command] = {}


def builtin(*names: str) -> Callable[[Command], Command]:
    """Register a builtin under its names."""

    def register(function: Command) -> Command:
        BUILTINS.update(dict.fromkeys(names, function))
        return function

    return register


def fault(sh: Machine, message: str, code: int = 1) -> int:
    """Complain and return the code."""
    sh.complain(message)
    return code


@builtin(":", "true")
def true(sh: Machine, args: list[str]) -> int:
    """Succeed."""
    return 0


@builtin("false")
def false(sh: Machine, args: list[str]) -> int:
    """Fail."""
    return 1


@builtin("trap", "umask", "wait", "hash", "ulimit", "jobs", "shopt", "disown", "times", "alias", "unalias", "bind", "history", "fg", "bg")
def accepted(sh: Machine, args: list[str]) -> int:
    """Do nothing: these have no meaning in a shell without jobs, signals and history."""
    return 0


@builtin("cd")
def cd(sh: Machine, args: list[str]) -> int:
    """Change the folder."""
    args = [a for a in args if a not in ("--", "-L", "-P")]
    if len(args) > 1:
        return fault(sh, "cd: too many arguments")
    target = args[0] if args else sh.variables.get("HOME") or ""
    if args and target == "-":
        target = sh.variables.get("OLDPWD") or ""
        if not target:
            return fault(sh, "cd: OLDPWD not set")
        sh.stdout.write(target + "\n")
    path = normal(target, sh.cwd)
    node = sh.files.find(path)
    if not isinstance(node, Folder) and target:
        return fault(sh, f"cd: {target}: {'No such file or directory' if node is None else 'Not a directory'}")
    sh.variables.set("OLDPWD", sh.cwd)
    sh.cwd = path
    sh.variables.set("PWD", path)
    return 0


@builtin("pwd")
def pwd(sh: Machine, args: list[str]) -> int:
    """Print the folder."""
    sh.stdout.write((sh.files.real(sh.cwd) if "-P" in args else sh.cwd) + "\n")
    return 0


@builtin("exit")
def exit_(sh: Machine, args: list[str]) -> int:
    """End the shell."""
    raise Leave(_code(sh, args, "exit"))


@builtin("return")
def return_(sh: Machine, args: list[str]) -> int:
    """End a function."""
    raise Return(_code(sh, args, "return"))


def _code(sh: Machine, args: list[str], name: str) -> int:
    if not args:
        return sh.status
    if not re.fullmatch(r"[+-]?\d{1,18}", args[0]):
        return fault(sh, f"{name}: {args[0]}: numeric argument required", 2)
    return int(args[0]) & 255


@builtin("break", "continue")
def break_(sh: Machine, args: list[str]) -> int:
    """Not reached: see `jump`."""
    return 0


def jump(again: bool) -> Command:
    """Return `break` or `continue`."""

    def run(sh: Machine, args: list[str]) -> int:
        if not sh.loops:
            return 0
        raise Jump(int(args[0]) if args and args[0].isdigit() and len(args[0]) < 9 else 1, again)

    return run


BUILTINS["break"], BUILTINS["continue"] = jump(False), jump(True)


@builtin("eval")
def eval_(sh: Machine, args: list[str]) -> int:
    """Run words as a program."""
    sh.calls += 1
    sh.status = 0
    try:
        return sh.run_source(" ".join(args))
    finally:
        sh.calls -= 1


@builtin("source", ".")
def source(sh: Machine, args: list[str]) -> int:
    """Run a file in this shell."""
    if not args:
        return fault(sh, "source: filename argument required", 2)
    try:
        text = to_text(sh.read_file(normal(args[0], sh.cwd)))
    except OSError as error:
        return fault(sh, f"{args[0]}: {error.strerror}")
    before = sh.arguments
    sh.arguments = args[1:] or before
    sh.calls += 1
    try:
        return sh.run_source(text)
    except Return as back:
        return back.code
    finally:
        sh.calls -= 1
        sh.arguments = before


@builtin("exec")
def exec_(sh: Machine, args: list[str]) -> int:
    """Run a command instead of the shell."""
    raise Leave(sh.start(args, functions=False) if args else 0)


@builtin("command")
def command(sh: Machine, args: list[str]) -> int:
    """Run a builtin or program, or tell what a name is (`-v`)."""
    if args and args[0] in ("-v", "-V"):
        return max([_describe(sh, name, args[0] == "-V") for name in args[1:]], default=0)
    args = [a for i, a in enumerate(args) if i or a not in ("-p", "--")]
    return sh.start(args, functions=False) if args else 0


@builtin("builtin")
def builtin_(sh: Machine, args: list[str]) -> int:
    """Run a builtin."""
    if args and args[0] in BUILTINS:
        return BUILTINS[args[0]](sh, args[1:])
    return fault(sh, f"builtin: {args[0] if args else ''}: not a shell builtin") if args else 0


@builtin("type")
def type_(sh: Machine, args: list[str]) -> int:
    """Tell what a name is."""
    if args[:1] == ["-t"]:
        return max([_kind(sh, name) for name in args[1:]], default=0)
    return max([_describe(sh, name, True) for name in args], default=0)


def _kind(sh: Machine, name: str) -> int:
    kind = "function" if name in sh.functions else "builtin" if name in sh.builtins else "file" if name in sh.programs or sh.which(name) else ""
    sh.stdout.write(kind + "\n" if kind else "")
    return int(not kind)


def _describe(sh: Machine, name: str, verbose: bool) -> int:
    path = f"/usr/bin/{name}" if name in sh.programs else sh.which(name) if "/" not in name else ""
    if name in sh.functions:
        sh.stdout.write(f"{name} is a function\n" if verbose else f"{name}\n")
    elif name in sh.builtins:
        sh.stdout.write(f"{name} is a shell builtin\n" if verbose else f"{name}\n")
    elif path:
        sh.stdout.write(f"{name} is {path}\n" if verbose else f"{path}\n")
    else:
        return fault(sh, f"type: {name}: not found") if verbose else 1
    return 0


@builtin("set")
def set_(sh: Machine, args: list[str]) -> int:
    """Set options and positional parameters; alone, list the variables."""
    if not args:
        for name in sorted(sh.variables.values):
            if isinstance(value := sh.variables.values[name], str):
                sh.stdout.write(f"{name}={value}\n")
        return 0
    i = 0
    while i < len(args) and args[i][:1] in "+-" and len(args[i]) > 1:
        if args[i] == "--":
            sh.arguments = args[i + 1 :]
            return 0
        on = args[i][0] == "-"
        names = [OPTIONS.get(letter, letter) for letter in args[i][1:] if letter != "o"]
        if "o" in args[i][1:] and i + 1 < len(args):
            i += 1
            names.append(args[i])
        for name in names:
            (sh.options.add if on else sh.options.discard)(name)
        i += 1
    if i < len(args):
        sh.arguments = args[i:]
    return 0


@builtin("shift")
def shift(sh: Machine, args: list[str]) -> int:
    """Drop positional parameters."""
    count = int(args[0]) if args and args[0].isdigit() and len(args[0]) < 9 else 1
    if count > len(sh.arguments):
        return 1
    sh.arguments = sh.arguments[count:]
    return 0


@builtin("unset")
def unset(sh: Machine, args: list[str]) -> int:
    """Remove variables, elements or functions."""
    functions = "-f" in args[:1]
    for name in args:
        match = re.fullmatch(r"([A-Za-z_]\w*)\[(.*)\]", name)
        if match:
            key = match[2].strip("'\"")
            sh.variables.unset(match[1], key if match[1] in sh.variables.associative else calculate(key, sh.expand.read, sh.expand.write))
        elif not name.startswith("-"):
            if functions or (name not in sh.variables.values and name in sh.functions):
                sh.functions.pop(name, None)
            else:
                try:
                    sh.variables.unset(name)
                except ReadOnly:
                    return fault(sh, f"unset: {name}: cannot unset: readonly variable")
    return 0


@builtin("export", "readonly", "declare", "typeset", "local")
def declare(sh: Machine, args: list[str]) -> int:
    """Not reached: see `declaration`."""
    return 0


def declaration(kind: str) -> Command:
    """Return `export`, `readonly`, `declare` or `local`."""

    def run(sh: Machine, args: list[str]) -> int:
        flags = {f for a in args if re.fullmatch(r"[-+][a-zA-Z]+", a) for f in a[1:]} if kind != "local" or args[:1] != ["-"] else set[str]()
        names = [a for a in args if not re.fullmatch(r"[-+][a-zA-Z]+|--", a)]
        if kind == "local" and not sh.variables.scopes:
            return fault(sh, "local: can only be used in a function")
        if not names or ("p" in flags and kind != "export"):
            return _listed(sh, kind, names)
        removing = any(a.startswith("+") for a in args)
        if kind == "export" and "n" in flags:
            sh.variables.exported -= set(names)
            return 0
        code, i = 0, 0
        while i < len(names):
            i, each = _declared(sh, names, i, kind, set() if removing else flags)
            code = max(code, each)
        return code

    return run


def _listed(sh: Machine, kind: str, names: list[str]) -> int:
    chosen = names or sorted(sh.variables.exported if kind == "export" else sh.variables.read_only if kind == "readonly" else sh.variables.values)
    for name in chosen:
        value = sh.variables.values.get(name)
        if value is None:
            continue
        mark = "-x" if name in sh.variables.exported else "-r" if name in sh.variables.read_only else "--"
        if isinstance(value, str):
            sh.stdout.write(f'declare {mark} {name}="{value}"\n')
        else:
            body = " ".join(f'[{key}]="{text}"' for key, text in sh.variables.elements(name))
            sh.stdout.write(f"declare -{'A' if name in sh.variables.associative else 'a'} {name}=({body})\n")
    return 0


def _declared(sh: Machine, words: list[str], i: int, kind: str, flags: set[str]) -> tuple[int, int]:
    """Carry out one operand, which starts at word `i`; returns where the next starts, and a code."""
    name, equals, value = words[i].partition("=")
    append = name.endswith("+")
    name = name.removesuffix("+")
    if not IDENTIFIER.fullmatch(name):
        return i + 1, fault(sh, f"{kind}: `{words[i]}': not a valid identifier")
    if kind == "local" or (kind == "declare" and sh.variables.scopes and "g" not in flags):
        sh.variables.local(name)
    if "A" in flags:
        sh.variables.associative.add(name)
    if "i" in flags:
        sh.variables.integers.add(name)
    following = i + 1
    if equals and value == "(":
        pairs, following = _array(words, i + 1)
        sh.assign_array(name, pairs, append)
    elif equals:
        sh.set(name, value, append=append)
    elif flags & {"a", "A"} and name not in sh.variables.values:
        sh.variables.values[name] = {}
    if kind == "export" or "x" in flags:
        sh.variables.exported.add(name)
    if kind == "readonly" or "r" in flags:
        sh.variables.read_only.add(name)
    return following, 0


def _array(words: list[str], i: int) -> tuple[list[tuple[str | None, str]], int]:
    pairs: list[tuple[str | None, str]] = []
    while i < len(words) and words[i] != "\0)":
        text = words[i].removeprefix("\0")
        match = re.fullmatch(r"\[([^\]]*)\]=(.*)", text, re.DOTALL)
        pairs.append((match[1], match[2]) if match else (None, text))
        i += 1
    return pairs, i + 1


for _kind_name in ("export", "readonly", "local"):
    BUILTINS[_kind_name] = declaration(_kind_name)
BUILTINS["declare"] = BUILTINS["typeset"] = declaration("declare")


@builtin("let")
def let(sh: Machine, args: list[str]) -> int:
    """Calculate expressions."""
    value = 0
    for text in args:
        value = calculate(text, sh.expand.read, sh.expand.write)
    return int(value == 0)


@builtin("read")
def read(sh: Machine, args: list[str]) -> int:
    """Read one line into variables."""
    raw, delimiter, array, count, source, names = _read_options(sh, args)
    line = _line(source, raw, delimiter, count)
    ended = line is None or (delimiter != "" and not line.endswith(delimiter) and count is None)
    text = (line or "").removesuffix(delimiter) if delimiter else (line or "")
    separators = sh.variables.get("IFS")
    separators = " \t\n" if separators is None else separators
    if array:
        sh.assign_array(array, [(None, f) for f in _fields(text, separators, -1, raw)])
    elif not names:
        sh.variables.set("REPLY", text if raw else re.sub(r"\\(.)", r"\1", text))
    else:
        fields = _fields(text, separators, len(names), raw)
        for i, name in enumerate(names):
            sh.variables.set(name, fields[i] if i < len(fields) else "")
    return int(ended)


def _read_options(sh: Machine, args: list[str]) -> tuple[bool, str, str, int | None, Source, list[str]]:
    raw, delimiter, array, count, source = False, "\n", "", None, sh.stdin
    i = 0
    while i < len(args) and args[i].startswith("-") and len(args[i]) > 1:
        letters = args[i][1:]
        i += 1
        for n, letter in enumerate(letters):
            if letter == "r":
                raw = True
            elif letter in "dapntuN":
                value = letters[n + 1 :] or (args[i] if i < len(args) else "")
                i += not letters[n + 1 :]
                delimiter = value[:1] if letter == "d" else delimiter
                array = value if letter == "a" else array
                count = int(value) if letter in "nN" and value.isdigit() and len(value) < 9 else count
                stream = sh.extra.get(int(value)) if letter == "u" and value.isdigit() and len(value) < 4 else None
                source = stream if isinstance(stream, Source) else source
                break
    return raw, delimiter, array, count, source, args[i:]


def _line(source: Source, raw: bool, delimiter: str, count: int | None) -> str | None:
    if count is not None:
        found = source.text[source.at : source.at + count].partition("\n")[0]
        source.at += len(found) + (len(found) < count)
        return found or None
    line = source.line(delimiter)
    while line is not None and not raw and re.search(r"(?<!\\)(?:\\\\)*\\\n\Z", line):
        line = line[:-2] + (source.line(delimiter) or "")
    return line


def _fields(text: str, separators: str, limit: int, raw: bool) -> list[str]:
    """Split a line as `read` does: at most `limit` fields, the last one takes the rest."""
    soft = "".join(c for c in separators if c in " \t\n")
    hard = "".join(c for c in separators if c not in " \t\n")
    fields: list[str] = []
    rest = text.strip(soft) if soft else text
    delimiter = re.compile(rf"[{re.escape(soft)}]*[{re.escape(hard)}][{re.escape(soft)}]*" + (rf"|[{re.escape(soft)}]+" if soft else "") if hard and soft else f"[{re.escape(hard + soft)}]" + ("+" if soft and not hard else "")) if separators else None
    while delimiter and rest and len(fields) != limit - 1:
        match = delimiter.search(rest)
        if not match:
            break
        fields.append(rest[: match.start()])
        rest = rest[match.end() :]
        if not rest:
            break
    if rest:
        if hard and limit > 0 and len(fields) == limit - 1 and rest[-1] in hard and not any(c in hard for c in rest[:-1]):
            rest = rest[:-1]
        fields.append(rest)
    return fields if raw else [re.sub(r"\\(.)", r"\1", f) for f in fields]


@builtin("mapfile", "readarray")
def mapfile(sh: Machine, args: list[str]) -> int:
    """Read lines into an array."""
    strip = "-t" in args
    names = [a for a in args if not a.startswith("-")]
    lines: list[str] = []
    while (line := sh.stdin.line()) is not None:
        lines.append(line.removesuffix("\n") if strip else line)
    sh.variables.set_array(names[-1] if names else "MAPFILE", dict(enumerate(lines)))
    return 0


@builtin("getopts")
def getopts(sh: Machine, args: list[str]) -> int:
    """Take the next option from the positional parameters."""
    if len(args) < 2:
        return fault(sh, "getopts: usage: getopts optstring name [arg ...]", 2)
    spec, name, words = args[0], args[1], args[2:] or sh.arguments
    index = int(sh.variables.get("OPTIND") or 1)
    place = int(sh.variables.get("_OPTPOS") or 1)
    if not 1 <= index <= len(words) or not words[index - 1].startswith("-") or words[index - 1] in ("-", "--"):
        sh.variables.set(name, "?")
        return 1
    word = words[index - 1]
    letter = word[place : place + 1]
    place += 1
    takes = spec.find(letter)
    value = None
    if takes >= 0 and spec[takes + 1 : takes + 2] == ":":
        value = word[place:] or (words[index] if index < len(words) else "")
        index += not word[place:]
        place = len(word)
    if place >= len(word):
        index, place = index + 1, 1
    sh.variables.set(name, letter if takes >= 0 and letter != ":" else "?")
    sh.variables.set("OPTARG", value or "")
    sh.variables.set("OPTIND", str(index))
    sh.variables.set("_OPTPOS", str(place))
    return 0
