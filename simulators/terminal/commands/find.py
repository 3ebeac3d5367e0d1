"""find and xargs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

from ..files import File, Folder, Link, Node, normal
from ..patterns import PatternError, glob, posix
from ..streams import Source
from .base import Run, Usage, program
from .dates import formatted
from .listing import permissions, size

Test = Callable[[str, Node], bool]
SIZE = re.compile(r"([+-]?)(\d{1,12})([cwbkMG]?)")
SCALE = {"c": 1, "w": 2, "b": 512, "": 512, "k": 1024, "M": 1 << 20, "G": 1 << 30}
# Longest command line that xargs builds, in characters.
MAX_LINE = 60_000


@program("find", raw=True)
def find(run: Run) -> int | None:
    """Walk through folders and test each entry."""
    args = [a for a in run.args if a not in ("-H", "-L", "-P")]
    roots: list[str] = []
    while args and not args[0].startswith(("-", "(", ")", "!", ",")):
        roots.append(args.pop(0))
    search = _Find(run, args)
    test = search.expression()
    run.sh.flush()
    for root in roots or ["."]:
        node = run.sh.files.find(run.path(root), follow=root.endswith("/"))
        if node is None:
            run.error(f"'{root}': No such file or directory")
        else:
            search.walk(root, node, test, 0)
    search.finish()
    return None


class _Find:
    """One search: its expression as functions, its depth limits, its pending commands."""

    def __init__(self, run: Run, words: list[str]) -> None:
        self.run, self.words, self.i = run, words, 0
        self.low, self.high, self.children_first, self.acts = 0, 1 << 30, False, False
        self.pruned = False
        self.pending: list[tuple[list[str], list[str]]] = []

    def walk(self, path: str, node: Node, test: Test, depth: int) -> None:
        """Test an entry and those below it."""
        self.run.sh.meter.charge(len(path))
        self.pruned = False
        if not self.children_first and depth >= self.low:
            test(path, node)
        if isinstance(node, Folder) and depth < self.high and not self.pruned:
            for name in sorted(node.entries):
                child = node.entries.get(name)
                if child is not None:
                    self.walk(f"{path.rstrip('/') if path != '/' else ''}/{name}", child, test, depth + 1)
        if self.children_first and depth >= self.low:
            test(path, node)

    def finish(self) -> None:
        """Run the commands of `-exec ... +`."""
        for command, paths in self.pending:
            if paths and self.run.sh.run_argv(command + paths):
                self.run.failed = 1

    def expression(self) -> Test:
        """Read the whole expression."""
        test = self.either() if self.words else self.always
        if self.i < len(self.words):
            raise Usage(f"paths must precede expression: `{self.words[self.i]}'")
        if self.acts:
            return test
        return lambda path, node: test(path, node) and self.write(path + "\n")

    @staticmethod
    def always(_path: str, _node: Node) -> bool:
        """Accept every entry."""
        return True

    def write(self, text: str) -> bool:
        """Write text; always true."""
        self.run.out(text)
        return True

    def either(self) -> Test:
        left = self.both()
        while self.i < len(self.words) and self.words[self.i] in ("-o", "-or"):
            self.i += 1
            left = self._or(left, self.both())
        return left

    @staticmethod
    def _or(left: Test, right: Test) -> Test:
        return lambda path, node: left(path, node) or right(path, node)

    @staticmethod
    def _and(left: Test, right: Test) -> Test:
        return lambda path, node: left(path, node) and right(path, node)

    def both(self) -> Test:
        left = self.primary()
        while self.i < len(self.words) and self.words[self.i] not in ("-o", "-or", ")"):
            if self.words[self.i] in ("-a", "-and"):
                self.i += 1
            left = self._and(left, self.primary())
        return left

    def word(self) -> str:
        """Take the argument of a test."""
        self.i += 1
        if self.i > len(self.words):
            raise Usage(f"missing argument to `{self.words[self.i - 2]}'")
        return self.words[self.i - 1]

    def primary(self) -> Test:
        if self.i >= len(self.words):
            raise Usage("expected an expression")
        name = self.words[self.i]
        self.i += 1
        if name in ("!", "-not"):
            inner = self.primary()
            return lambda path, node: not inner(path, node)
        if name == "(":
            inner = self.either()
            if self.i >= len(self.words) or self.words[self.i] != ")":
                raise Usage("invalid expression; I was expecting to find a ')' somewhere but did not see one.")
            self.i += 1
            return inner
        return self.test(name)

    def test(self, name: str) -> Test:
        """Return the function of one test or action."""
        if name in ("-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex"):
            return self.named(name, self.word())
        if name in ("-maxdepth", "-mindepth"):
            value = self.word()
            if not value.isdigit() or len(value) > 9:
                raise Usage(f"Expected a positive decimal integer argument to {name}, but got '{value[:40]}'")
            self.low, self.high = (self.low, int(value)) if name == "-maxdepth" else (int(value), self.high)
            return lambda _path, _node: True
        if name == "-type":
            kinds = self.word()
            return lambda _path, node: (
                ("d" if isinstance(node, Folder) else "l" if isinstance(node, Link) else "c" if node.device else "f")
                in kinds.split(",")
            )
        if name == "-empty":
            return lambda _path, node: (
                not node.entries if isinstance(node, Folder) else isinstance(node, File) and not node.data
            )
        if name in ("-size", "-mtime", "-mmin", "-newer", "-perm"):
            return self.measured(name, self.word())
        return self.action(name)

    def named(self, name: str, text: str) -> Test:
        """Return a test of the name or path."""
        fold = name[1] == "i"
        if "regex" in name:
            try:
                regex = posix(text, ignore_case=fold, whole="x")
            except PatternError as problem:
                raise Usage(str(problem)) from None
            return lambda path, _node: regex.matches(path)
        pattern = glob(text.lower() if fold else text)

        def test(path: str, _node: Node) -> bool:
            subject = path if "name" not in name or "whole" in name else path.rstrip("/").rpartition("/")[2] or "/"
            return bool(pattern.fullmatch(subject.lower() if fold else subject))

        return test

    def measured(self, name: str, text: str) -> Test:
        """Return a test of size, time or mode."""
        if name == "-newer":
            reference = self.run.sh.files.get(self.run.path(text)).mtime
            return lambda _path, node: node.mtime > reference
        if name == "-perm":
            if not re.fullmatch(r"[-/]?[0-7]{1,4}", text):
                raise Usage(f"invalid mode '{text[:40]}'")
            mode = int(text.lstrip("-/"), 8)
            return lambda _path, node: (
                node.mode & mode == mode
                if text[0] == "-"
                else bool(node.mode & mode)
                if text[0] == "/"
                else node.mode == mode
            )
        match = SIZE.fullmatch(text)
        if not match:
            raise Usage(f"invalid argument `{text[:40]}' to `{name}'")
        sign, value = match[1], int(match[2])
        now = self.run.sh.files.now()

        def test(_path: str, node: Node) -> bool:
            scale = SCALE[match[3]]
            have = (
                -(-size(node) // scale)
                if name == "-size"
                else (now - node.mtime) // (86400 if name == "-mtime" else 60)
            )
            return have > value if sign == "+" else have < value if sign == "-" else have == value

        return test

    def action(self, name: str) -> Test:
        """Return the function of an action."""
        simple: dict[str, Test] = {
            "-true": lambda _path, _node: True,
            "-false": lambda _path, _node: False,
            "-print": lambda path, _node: self.write(path + "\n"),
            "-print0": lambda path, _node: self.write(path + "\0"),
            "-delete": self.delete,
            "-prune": self.prune,
            "-depth": lambda _path, _node: True,
            "-ls": lambda path, node: self.write(f"{permissions(node)} {size(node)} {path}\n"),
        }
        if name not in simple and name not in ("-exec", "-execdir", "-ok", "-printf"):
            raise Usage(f"unknown predicate `{name}'")
        self.acts = self.acts or name not in ("-true", "-false", "-prune", "-depth")
        self.children_first = self.children_first or name in ("-delete", "-depth")
        if name == "-printf":
            return self.printed(self.word())
        return simple[name] if name in simple else self.executed(name)

    def printed(self, form: str) -> Test:
        """Return the action `-printf`."""
        from ..bash.words import unescape

        form = unescape(form)

        def act(path: str, node: Node) -> bool:
            kind = "d" if isinstance(node, Folder) else "l" if isinstance(node, Link) else "f"
            values = {
                "p": path,
                "f": path.rpartition("/")[2],
                "h": path.rpartition("/")[0],
                "s": str(size(node)),
                "y": kind,
                "m": f"{node.mode:o}",
                "M": permissions(node),
                "P": path.partition("/")[2],
                "d": str(path.count("/")),
                "t": formatted("%c", node.mtime),
                "%": "%",
                "u": "user",
                "g": "user",
            }
            return self.write(re.sub(r"%([a-zA-Z%])", lambda m: values.get(m[1], m[0]), form))

        return act

    def prune(self, _path: str, _node: Node) -> bool:
        """Do not go below this folder."""
        self.pruned = True
        return True

    def delete(self, path: str, _node: Node) -> bool:
        """Remove the entry."""
        if path in (".", "/"):
            return True
        try:
            self.run.sh.files.remove(self.run.path(path))
        except OSError as problem:
            self.run.error(f"cannot delete '{path}': {problem.strerror}")
            return False
        return True

    def executed(self, name: str) -> Test:
        """Return the action `-exec`."""
        command: list[str] = []
        while (
            self.i < len(self.words)
            and self.words[self.i] != ";"
            and not (self.words[self.i] == "+" and command[-1:] == ["{}"])
        ):
            command.append(self.words[self.i])
            self.i += 1
        if self.i >= len(self.words) or not command:
            raise Usage(f"missing argument to `{name}'")
        self.i += 1
        if self.words[self.i - 1] == "+":
            paths: list[str] = []
            self.pending.append((command[:-1], paths))
            return lambda path, _node: paths.append(path) is None

        def act(path: str, _node: Node) -> bool:
            if name == "-execdir":
                before, self.run.sh.cwd = self.run.sh.cwd, normal("..", self.run.path(path))
                try:
                    return self.run.sh.run_argv([w.replace("{}", "./" + path.rpartition("/")[2]) for w in command]) == 0
                finally:
                    self.run.sh.cwd = before
            return self.run.sh.run_argv([w.replace("{}", path) for w in command]) == 0

        return act


@program(
    "xargs",
    short="0n:I:L:d:rtP:ia:s:x",
    long=(
        "null",
        "max-args=",
        "replace=",
        "delimiter=",
        "no-run-if-empty",
        "verbose",
        "max-procs=",
        "max-lines=",
        "arg-file=",
    ),
    early=True,
)
def xargs(run: Run) -> int:
    """Build commands from standard input."""
    items = _items(run)
    if not items and run.has("r", "no-run-if-empty"):
        return 0
    command = run.args or ["echo"]
    mark = run.get("I", "replace") or ("{}" if run.has("i") else None)
    if mark:
        batches = [[word.replace(mark, item) for word in command] for item in items]
    else:
        size = run.number("n", "max-args", "L", "max-lines", default=5000)
        if size < 1:
            raise Usage("value for -n option should be >= 1")
        batches = [command + items[i : i + size] for i in range(0, len(items), size)] or [command]
    code = 0
    for batch in batches:
        if sum(map(len, batch)) > MAX_LINE:
            return run.error("argument line too long")
        if run.has("t", "verbose"):
            run.sh.stderr.write(shlex.join(batch) + "\n")
        each = run.sh.run_argv(batch, Source())
        if each in (126, 127):
            return each
        if each == 255:
            return run.error(f"{batch[0]}: exited with status 255; aborting", 124)
        code = 123 if each else code
    return code


def _items(run: Run) -> list[str]:
    name = run.get("a", "arg-file")
    text = run.read(name or "-")
    delimiter = run.get("d", "delimiter")
    if run.has("0", "null"):
        return text.removesuffix("\0").split("\0") if text else []
    if delimiter:
        from ..bash.words import unescape

        mark = unescape(delimiter)[:1] or "\n"
        return text.removesuffix(mark).split(mark) if text else []
    if run.has("I", "replace", "i", "L", "max-lines"):
        return [_unquoted(line.strip()) for line in text.split("\n") if line.strip()]
    lexer = shlex.shlex(text, posix=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    lexer.escapedquotes = ""
    try:
        return list(lexer)
    except ValueError:
        raise Usage("unmatched quote; by default quotes are special to xargs unless you use the -0 option") from None


def _unquoted(line: str) -> str:
    return re.sub(r"\\(.)|'([^']*)'|\"([^\"]*)\"", lambda m: m[1] or m[2] or m[3] or "", line)
