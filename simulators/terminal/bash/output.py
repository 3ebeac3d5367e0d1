"""`echo`, `printf` and `test`: builtins that every script uses."""

from __future__ import annotations

import re

from ..meter import MAX_OUTPUT, Stopped
from .arithmetic import ArithmeticFault, calculate
from .machine import Machine
from .registry import BUILTINS, builtin, fault
from .words import unescape

DIRECTIVE = re.compile(r"%([-+ 0#']*)(\*|\d{1,9})?(?:\.(\*|\d{0,9}))?([a-zA-Z%])|%(\(([^)]*)\)T)")
UNARY = {
    "-a",
    "-b",
    "-c",
    "-d",
    "-e",
    "-f",
    "-g",
    "-h",
    "-k",
    "-L",
    "-n",
    "-o",
    "-p",
    "-r",
    "-s",
    "-S",
    "-t",
    "-u",
    "-v",
    "-w",
    "-x",
    "-z",
    "-G",
    "-N",
    "-O",
}
BINARY = {"=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}


@builtin("echo")
def echo(sh: Machine, args: list[str]) -> int:
    """Write words."""
    newline, escapes = True, False
    while args and re.fullmatch(r"-[neE]+", args[0]):
        newline = newline and "n" not in args[0]
        escapes = "e" in args[0] or (escapes and "E" not in args[0])
        args = args[1:]
    text = " ".join(args)
    if escapes:
        text, stop, _ = text.partition("\\c")
        text, newline = unescape(text, octal_zero=True), newline and not stop
    sh.stdout.write(text + "\n" * newline)
    return 0


@builtin("printf")
def printf(sh: Machine, args: list[str]) -> int:
    """Write formatted words."""
    target = ""
    if args[:1] == ["-v"] and len(args) > 1:
        target, args = args[1], args[2:]
    args = args[1:] if args[:1] == ["--"] else args
    if not args:
        return fault(sh, "printf: usage: printf [-v var] format [arguments]", 2)
    printer = _Printer(sh, args[0], args[1:])
    text = printer.run()
    if target:
        sh.variables.set(target, text.replace("\0", ""))
    else:
        sh.stdout.write(text)
    return printer.code


def _unknown(_name: str, _index: int | None) -> str:
    return ""


def _ignored(_name: str, _index: int | None, _value: str) -> None:
    return None


class _Printer:
    """One `printf`: goes over the format again as long as words are left."""

    def __init__(self, sh: Machine, form: str, words: list[str]) -> None:
        self.sh, self.form, self.words = sh, form, words
        self.code = 0
        self.stopped = False
        self.size = 0

    def run(self) -> str:
        out: list[str] = []
        while True:
            before = len(self.words)
            out.append(self.once())
            self.size += len(out[-1])
            if self.size > MAX_OUTPUT:
                raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
            if self.stopped or not self.words or len(self.words) == before:
                return "".join(out)

    def once(self) -> str:
        out: list[str] = []
        at = 0
        for match in DIRECTIVE.finditer(self.form):
            out += [unescape(self.form[at : match.start()]), self.directive(match)]
            at = match.end()
            if self.stopped:
                return "".join(out)
        return "".join([*out, unescape(self.form[at:])])

    def word(self) -> str:
        return self.words.pop(0) if self.words else ""

    def directive(self, match: re.Match[str]) -> str:
        flags, width, precision, kind = match[1] or "", match[2] or "", match[3], match[4]
        if match[5]:
            from ..commands.dates import formatted

            text = self.word()
            return formatted(match[6] or "%X", self.sh.files.now() if text in ("", "-1", "-2") else self.integer(text))
        if kind == "%":
            return "%"
        if width == "*":
            width = str(self.integer(self.word()))
            flags, width = (flags + "-", width[1:]) if width.startswith("-") else (flags, width)
        if precision == "*":
            precision = str(max(self.integer(self.word()), 0))
        if max(int(width or 0), int(precision or 0)) > MAX_OUTPUT:
            raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
        return self.formatted(flags.replace("'", ""), width, precision, kind)

    def formatted(self, flags: str, width: str, precision: str | None, kind: str) -> str:
        dot = "" if precision is None else f".{precision or 0}"
        if kind in "sbqc":
            text = self.word()
            if kind == "b":
                text, stop, _ = text.partition("\\c")
                text, self.stopped = unescape(text, octal_zero=True), bool(stop)
            elif kind == "q":
                text = (
                    text
                    if re.fullmatch(r"[\w@%+=:,./-]+", text)
                    else "''"
                    if not text
                    else re.sub(r"([^\w@%+=:,./-])", r"\\\1", text)
                )
            elif kind == "c":
                text = text[:1]
            return f"%{flags.translate({ord(c): None for c in '0+ #'})}{width}{dot}s" % text
        if kind in "diouxX":
            value = self.integer(self.word())
            if kind in "ouxX":
                value %= 1 << 64
            text = (
                f"%{flags if dot == '' else flags.replace('0', '')}{width}{dot}{'d' if kind in 'iu' else kind}" % value
            )
            return re.sub(r"0o", "0", text)
        if kind in "fFeEgG":
            return f"%{flags}{width}{dot}{kind}" % self.real(self.word())
        self.sh.complain(f"printf: `{kind}': invalid format character")
        self.code, self.stopped = 1, True
        return ""

    def integer(self, text: str) -> int:
        text = text.strip()
        if text[:1] in ("'", '"'):
            return ord(text[1]) if len(text) > 1 else 0
        match = re.match(r"[+-]?(0[xX][0-9a-fA-F]+|\d+)", text)
        if not match or match[0] != text:
            self.bad(text) if text else None
        if not match:
            return 0
        try:
            sign = -1 if match[0].startswith("-") else 1
            return sign * calculate(match[1], _unknown, _ignored)
        except ArithmeticFault:
            self.bad(text)
            return 0

    def real(self, text: str) -> float:
        if text[:1] in ("'", '"'):
            return float(ord(text[1])) if len(text) > 1 else 0.0
        match = re.match(r"\s*([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?)", text)
        if text and (not match or match[0] != text):
            self.bad(text)
        return float(match[1]) if match else 0.0

    def bad(self, text: str) -> None:
        self.sh.complain(f"printf: {text[:60]}: invalid number")
        self.code = 1


def tester(bracket: bool):  # noqa: ANN201
    """Return `[` or `test`."""

    def run(sh: Machine, args: list[str]) -> int:
        if bracket:
            if args[-1:] != ["]"]:
                return fault(sh, "[: missing `]'", 2)
            args = args[:-1]
        try:
            return int(not _Test(sh, args).run())
        except ArithmeticFault as problem:
            return fault(sh, str(problem).replace("[: ", "[: " if bracket else "test: ", 1), 2)
        except ValueError as problem:
            return fault(sh, f"{'[' if bracket else 'test'}: {problem}", 2)

    return run


class _Test:
    """The expression of `test`: `-o` over `-a` over `!` over primaries."""

    def __init__(self, sh: Machine, words: list[str]) -> None:
        self.sh, self.words, self.i = sh, words, 0

    def run(self) -> bool:
        if not self.words:
            return False
        if len(self.words) == 1:
            return self.words[0] != ""
        if len(self.words) == 3 and self.words[1] in BINARY:
            return self.sh.binary_test(self.words[1], self.words[0], self.words[2])
        value = self.either()
        if self.i < len(self.words):
            raise ValueError(
                "too many arguments" if len(self.words) > 3 else f"{self.words[1]}: binary operator expected"
            )
        return value

    def peek(self, offset: int = 0) -> str:
        return self.words[self.i + offset] if self.i + offset < len(self.words) else ""

    def either(self) -> bool:
        value = self.both()
        while self.peek() == "-o":
            self.i += 1
            value = self.both() or value
        return value

    def both(self) -> bool:
        value = self.primary(0)
        while self.peek() == "-a":
            self.i += 1
            value = self.primary(0) and value
        return value

    def primary(self, depth: int) -> bool:
        if self.i >= len(self.words) or depth > 40:
            raise ValueError("argument expected")
        word = self.peek()
        if self.peek(1) in BINARY and self.i + 2 < len(self.words):
            self.i += 3
            return self.sh.binary_test(self.words[self.i - 2], word, self.words[self.i - 1])
        if word == "!":
            self.i += 1
            return not self.primary(depth + 1)
        if word == "(" and ")" in self.words[self.i :]:
            self.i += 1
            value = self.either()
            if self.peek() != ")":
                raise ValueError("`)' expected")
            self.i += 1
            return value
        if word in UNARY and self.i + 1 < len(self.words):
            self.i += 2
            return self.sh.unary_test(word, self.words[self.i - 1])
        self.i += 1
        return word != ""


BUILTINS["test"], BUILTINS["["] = tester(False), tester(True)
