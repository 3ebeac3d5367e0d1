"""From text to words: quotes, `$`, backquotes, here-documents. The part of the reader below commands."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod

from ..meter import MAX_NESTING
from . import syntax as s

META = " \t\n;&|<>()"
SPECIAL = "@*#?-$!0123456789"
PARAMETER = re.compile(r"[A-Za-z_]\w*|\d+|[@*#?\-$!]", re.ASCII)
OPERATOR = re.compile(r":[-=+?]|##|%%|//|/#|/%|\^\^|,,|[-=+?#%/^,:@]")
ESCAPES = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "a": "\a",
    "b": "\b",
    "e": "\x1b",
    "E": "\x1b",
    "f": "\f",
    "v": "\v",
    "\\": "\\",
    "'": "'",
    '"': '"',
    "?": "?",
}
NUMERIC = re.compile(r"x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})")


def unescape(text: str, octal_zero: bool = False) -> str:
    r"""Return text with `\n`, `\t`, `\x41`, `\101` ... replaced; `octal_zero`: octals begin with 0, as in echo."""
    out: list[str] = []
    i = 0
    while i < len(text):
        if text[i] != "\\" or i + 1 >= len(text):
            out.append(text[i])
            i += 1
            continue
        number = NUMERIC.match(text, i + 1)
        if octal_zero and text[i + 1] == "0":
            number = re.compile(r"()()()0([0-7]{0,3})").match(text, i + 1)
        elif octal_zero and number and number[4]:
            number = None
        if number:
            digits = next((g for g in number.groups() if g), "0")
            code = int(digits, 8 if number.lastindex == 4 else 16)
            out.append(character(code, wide=bool(number.lastindex in (2, 3))))
            i = number.end()
        else:
            out.append(ESCAPES.get(text[i + 1], "\\" + text[i + 1]))
            i += 2
    return "".join(out)


def character(code: int, wide: bool = False) -> str:
    """Return a character by code; a single byte from 128 on as a surrogate escape."""
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return ""
    return chr(0xDC00 + code) if 128 <= code < 256 and not wide else chr(code & 0xFF if not wide else code)


class WordReader(ABC):
    """Reads words at a position of a text."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.pos = 0
        self.depth = depth
        self.pending: list[tuple[str, bool, bool, list[s.Word]]] = []

    @abstractmethod
    def substituted(self, close: str) -> s.Sequence:
        """Read a program up to and with `close`."""

    @abstractmethod
    def program(self) -> s.Sequence:
        """Read everything."""

    def at_end(self) -> bool:
        """Tell whether nothing is left."""
        return self.pos >= len(self.text)

    def peek(self) -> str:
        """Return the next character, or ""."""
        return self.text[self.pos : self.pos + 1]

    def enter(self) -> None:
        """Go one level deeper."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise SyntaxError("nested too deeply")

    def error(self, message: str = "") -> SyntaxError:
        """Return the error for what stands here."""
        if message:
            return SyntaxError(f"syntax error: {message}")
        if self.at_end():
            return SyntaxError("syntax error: unexpected end of file")
        token = re.compile(r"&&|\|\||;;|[;&|()<>\n]|[^\s;&|()<>]+").match(self.text, self.pos)
        near = token[0][:40] if token else self.peek()
        return SyntaxError(f"syntax error near unexpected token `{'newline' if near == chr(10) else near}'")

    def expect(self, text: str) -> None:
        """Skip `text`, which must stand here."""
        if not self.text.startswith(text, self.pos):
            raise self.error() if not self.at_end() else self.error(f"unexpected end of file, `{text}' is missing")
        self.pos += len(text)

    def inner(self, text: str) -> s.Word:
        """Return a text with its `$` parts as one quoted word, as inside arithmetic and here-documents."""
        return s.Word(tuple(self.__class__(text, self.depth + 1).double_quoted("")))

    # Here-documents

    def here_document(self, fd: int, strip: bool) -> s.Redirect:
        """Note a here-document; its text is filled in at the end of the line."""
        while self.peek() in (" ", "\t"):
            self.pos += 1
        start = self.pos
        word = self.word()
        if word is None:
            raise self.error()
        raw = self.text[start : self.pos]
        delimiter = re.sub(r"[\"'\\]", "", raw)
        text = self.peel(delimiter, strip)
        expand = not re.search(r"[\"'\\]", raw)
        return s.Redirect(fd, "<<", self.inner_document(text) if expand else s.Word((s.Literal(text, True),)))

    def inner_document(self, text: str) -> s.Word:
        """Return the expandable text of a here-document."""
        return s.Word(tuple(self.__class__(text, self.depth + 1).double_quoted("", document=True)))

    def peel(self, delimiter: str, strip: bool) -> str:
        """Take the lines up to the delimiter out of the source, wherever the present line ends."""
        line_end = self.text.find("\n", self.pos)
        if line_end < 0:
            return ""
        lines: list[str] = []
        at = line_end + 1
        while at < len(self.text):
            end = self.text.find("\n", at)
            end = len(self.text) if end < 0 else end
            line = self.text[at:end]
            line = line.lstrip("\t") if strip else line
            at = min(end + 1, len(self.text))
            if line == delimiter:
                break
            lines.append(line + "\n")
        self.text = self.text[: line_end + 1] + self.text[at:]
        return "".join(lines)

    def end_line(self) -> None:
        """Skip the end of a line."""
        self.pos += 1

    # Words

    def word(self, stops: str = "", quoted_blanks: bool = False, assigned: bool = False) -> s.Word | None:
        """Read one word, or return `None` where none stands.

        Args:
            stops: Characters that end it besides the usual ones.
            quoted_blanks: Whether blanks and operators belong to it, as in a subscript.
            assigned: Whether it is an assigned value, where nothing changes but an empty word is allowed.
        """
        parts: list[s.Part] = []
        plain: list[str] = []
        ends = stops if quoted_blanks else META + stops
        start = self.pos
        while not self.at_end():
            char = self.text[self.pos]
            if char in "<>" and self.text.startswith("(", self.pos + 1) and not quoted_blanks:
                self.flush(plain, parts)
                self.pos += 2
                parts.append(s.Process(self.substituted(")"), char == ">"))
            elif char in ends:
                break
            elif char in "\\'\"$`":
                self.quoted(char, plain, parts)
            else:
                plain.append(char)
                self.pos += 1
        self.flush(plain, parts)
        return s.Word(tuple(parts)) if parts or self.pos > start else None

    def regex(self) -> s.Word | None:
        """Read the pattern of `=~`: brackets and bars belong to it."""
        parts: list[s.Part] = []
        plain: list[str] = []
        level = 0
        while not self.at_end():
            char = self.text[self.pos]
            if level == 0 and char in " \t\n":
                break
            level += (char in "([") - (char in ")]")
            if char in "'\"$`" and not (
                char == "$" and not re.match(r"[\w{(]", self.text[self.pos + 1 : self.pos + 2] or " ")
            ):
                self.quoted(char, plain, parts)
            else:
                take = 2 if char == "\\" else 1
                plain.append(self.text[self.pos : self.pos + take])
                self.pos += take
        self.flush(plain, parts)
        return s.Word(tuple(parts)) if parts else None

    @staticmethod
    def flush(plain: list[str], parts: list[s.Part]) -> None:
        """Move gathered characters into a literal part."""
        if plain:
            parts.append(s.Literal("".join(plain)))
            plain.clear()

    def quoted(self, char: str, plain: list[str], parts: list[s.Part]) -> None:
        """Read what begins with a quoting character."""
        if self.text.startswith("\\\n", self.pos):
            self.pos += 2
            return
        if char == "$" and not self.dollar_starts():
            plain.append(char)
            self.pos += 1
            return
        self.flush(plain, parts)
        if char == "\\":
            parts.append(s.Literal(self.text[self.pos + 1 : self.pos + 2] or "\\", True))
            self.pos += 2
        elif char == "'":
            parts.append(s.Literal(self.until("'"), True))
        elif char == '"':
            self.pos += 1
            parts += self.double_quoted('"') or [s.Literal("", True)]
        elif char == "`":
            parts.append(self.backquoted(False))
        else:
            parts.append(self.dollar(False))

    def until(self, close: str) -> str:
        """Return the text between the present character and the next `close`, and skip both."""
        end = self.text.find(close, self.pos + 1)
        if end < 0:
            raise SyntaxError(f"unexpected EOF while looking for matching `{close}'")
        found = self.text[self.pos + 1 : end]
        self.pos = end + 1
        return found

    def double_quoted(self, close: str, document: bool = False) -> list[s.Part]:
        """Read parts up to `close` ("": the end), where only `$`, backquotes and some escapes mean something."""
        parts: list[s.Part] = []
        plain: list[str] = []
        escaped = "\\$`" if document else '\\$`"' if close else "\\$`"
        while True:
            if self.at_end():
                if close:
                    raise SyntaxError(f"unexpected EOF while looking for matching `{close}'")
                break
            char = self.text[self.pos]
            if close and char == close:
                self.pos += 1
                break
            if char == "\\" and self.pos + 1 < len(self.text) and self.text[self.pos + 1] in escaped + "\n":
                plain.append("" if self.text[self.pos + 1] == "\n" else self.text[self.pos + 1])
                self.pos += 2
            elif (char == "$" and self.dollar_starts(in_quotes=True)) or char == "`":
                if plain:
                    parts.append(s.Literal("".join(plain), True))
                    plain.clear()
                parts.append(self.backquoted(True) if char == "`" else self.dollar(True))
            else:
                plain.append(char)
                self.pos += 1
        if plain:
            parts.append(s.Literal("".join(plain), True))
        return parts

    def dollar_starts(self, in_quotes: bool = False) -> bool:
        """Tell whether the `$` here begins something."""
        after = self.text[self.pos + 1 : self.pos + 2]
        return bool(after) and (
            after in "({"
            or after in SPECIAL
            or after == "_"
            or (after.isascii() and after.isalpha())
            or (not in_quotes and after in "'\"")
        )

    def dollar(self, quoted: bool) -> s.Part:
        """Read what a `$` begins."""
        self.pos += 1
        char = self.peek()
        if self.text.startswith("((", self.pos):
            start = self.pos
            self.pos += 2
            try:
                return s.Arithmetic(self.inner(self.between("))")), quoted)
            except SyntaxError:
                self.pos = start
        if char == "(":
            self.pos += 1
            return s.Substitution(self.substituted(")"), quoted)
        if char == "{":
            self.pos += 1
            return self.braced(quoted)
        if char == "'":
            end = self.pos + 1
            while end < len(self.text) and self.text[end] != "'":
                end += 2 if self.text[end] == "\\" else 1
            if end >= len(self.text):
                raise SyntaxError("unexpected EOF while looking for matching `''")
            text = unescape(self.text[self.pos + 1 : end]).partition("\0")[0]
            self.pos = end + 1
            return s.Literal(text, True)
        if char == '"':
            self.pos += 1
            return s.Literal("".join(p.text for p in self.double_quoted('"') if isinstance(p, s.Literal)), True)
        match = re.compile(r"[A-Za-z_]\w*|.", re.ASCII).match(self.text, self.pos)
        name = match[0] if match else ""
        self.pos += len(name)
        return s.Parameter(name, quoted=quoted)

    def backquoted(self, quoted: bool) -> s.Part:
        """Read a command in backquotes."""
        end = self.pos + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise SyntaxError("unexpected EOF while looking for matching ``'")
        source = re.sub(r'\\([\\$`"])' if quoted else r"\\([\\$`])", r"\1", self.text[self.pos + 1 : end])
        self.pos = end + 1
        self.enter()
        body = self.__class__(source, self.depth).program()
        self.depth -= 1
        return s.Substitution(body, quoted)

    def between(self, close: str) -> str:
        """Return the text up to `close` at the same level of brackets and skip it; for arithmetic."""
        level, start = 0, self.pos
        while not self.at_end():
            if level == 0 and self.text.startswith(close, self.pos):
                found = self.text[start : self.pos]
                self.pos += len(close)
                return found
            level += {"(": 1, ")": -1}.get(self.text[self.pos], 0)
            if level < 0:
                break
            self.pos += 1
        raise SyntaxError(f"unexpected EOF while looking for matching `{close}'")

    def braced(self, quoted: bool) -> s.Part:
        """Read the inside of `${...}`."""
        self.enter()
        length = self.peek() == "#" and not self.text.startswith(("#}", "#:", "#-", "#%", "##"), self.pos)
        indirect = self.peek() == "!" and self.text[self.pos + 1 : self.pos + 2] not in ("}", ":", "-")
        self.pos += length or indirect
        name = PARAMETER.match(self.text, self.pos)
        if not name:
            raise SyntaxError("bad substitution")
        self.pos = name.end()
        index = None
        if self.peek() == "[":
            self.pos += 1
            index = self.word("]", quoted_blanks=True) or s.Word()
            self.expect("]")
        operator = OPERATOR.match(self.text, self.pos)
        argument = second = None
        if operator:
            self.pos = operator.end()
            argument, second = self.arguments(operator[0], quoted)
        if self.peek() != "}":
            raise SyntaxError("bad substitution")
        self.pos += 1
        self.depth -= 1
        return s.Parameter(name[0], index, operator[0] if operator else "", argument, second, length, indirect, quoted)

    def arguments(self, operator: str, quoted: bool) -> tuple[s.Word | None, s.Word | None]:
        """Read the one or two words after an operator of `${...}`."""
        split = "/" if operator.startswith("/") else ":" if operator == ":" else ""
        first = self.argument(split + "}", quoted and operator.lstrip(":") in ("-", "=", "+", "?"))
        if split and self.peek() == split:
            self.pos += 1
            return first, self.argument("}", False)
        return first, None

    def argument(self, stops: str, quoted: bool) -> s.Word:
        """Read a word inside `${...}` up to one of `stops`."""
        parts: list[s.Part] = []
        plain: list[str] = []
        while not self.at_end() and self.peek() not in stops:
            char = self.text[self.pos]
            if char in '\\"$`' or (char == "'" and not quoted):
                self.quoted(char, plain, parts)
            else:
                plain.append(char)
                self.pos += 1
        self.flush(plain, parts)
        if quoted:
            parts = [s.Literal(p.text, True) if isinstance(p, s.Literal) else p for p in parts]
        return s.Word(tuple(parts))
