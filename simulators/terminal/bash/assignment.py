"""Assignments: variables, elements and whole arrays."""

from __future__ import annotations

from . import syntax as s
from .arithmetic import calculate
from .conditions import Testing


class Assigning(Testing):
    """A process that can carry out assignments."""

    def assign(self, assignment: s.Assignment) -> None:
        """Carry out one assignment."""
        name, value = assignment.name, assignment.value
        if isinstance(value, tuple):
            return self.assign_array(name, self.array_words(value), assignment.append)
        text = self.expand.text(value)
        key = self.expand.key(s.Parameter(name, assignment.index)) if assignment.index else None
        self.set(name, text, key, assignment.append)
        if "allexport" in self.options:
            self.variables.exported.add(name)
        return None

    def set(self, name: str, text: str, key: str | int | None = None, append: bool = False) -> None:
        """Set a variable, or add to it; integer variables calculate."""
        if name in self.variables.integers:
            value = calculate(text, self.expand.read, self.expand.write)
            old = calculate(self.variables.get(name, key) or "0", self.expand.read, self.expand.write) if append else 0
            text, append = str(old + value), False
        self.variables.set(name, (self.variables.get(name, key) or "") + text if append else text, key)
        if name == "RANDOM":
            self.random.seed(text)

    def array_words(self, words: tuple[s.Word, ...]) -> list[tuple[str | None, str]]:
        """Return the (key, value) pairs of `(a b [k]=v)`."""
        pairs: list[tuple[str | None, str]] = []
        for word in words:
            first = word.parts[0] if word.parts else None
            if isinstance(first, s.Literal) and not first.quoted and first.text.startswith("["):
                key, equals, value = self.expand.text(word)[1:].partition("]=")
                if equals:
                    pairs.append((key, value))
                    continue
            pairs += [(None, field) for field in self.expand.fields([word])]
        return pairs

    def assign_array(self, name: str, pairs: list[tuple[str | None, str]], append: bool = False) -> None:
        """Set a whole array from (key, value) pairs; without a key, the next number."""
        if name in self.variables.associative:
            old = dict(self.variables.elements(name)) if append else {}
            self.variables.set_array(
                name, {str(k): v for k, v in old.items()} | {key: value for key, value in pairs if key is not None}
            )
            return
        values = {int(k): v for k, v in self.variables.elements(name)} if append else {}
        index = max(values, default=-1)
        for key, value in pairs:
            index = index + 1 if key is None else calculate(key, self.expand.read, self.expand.write)
            values[index] = value
        self.variables.set_array(name, values)
