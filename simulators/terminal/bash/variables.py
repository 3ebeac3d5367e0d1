"""Shell variables: strings, indexed arrays, associative arrays; exported, read-only, local."""

from __future__ import annotations

from ..meter import MAX_VALUE, Stopped

Value = str | dict[int, str] | dict[str, str]


class ReadOnly(Exception):
    """An attempt to change a read-only variable."""


class Variables:
    """The variables of one shell. Arrays are dictionaries; `associative` names those with text keys."""

    def __init__(self, exported: dict[str, str]) -> None:
        self.values: dict[str, Value] = dict(exported)
        self.exported: set[str] = set(exported)
        self.read_only: set[str] = set()
        self.associative: set[str] = set()
        self.integers: set[str] = set()
        self.scopes: list[dict[str, Value | None]] = []

    def copy(self) -> Variables:
        """Return an independent copy, for a subshell."""
        other = Variables({})
        other.values = {name: value if isinstance(value, str) else dict(value) for name, value in self.values.items()}  # pyright: ignore[reportAttributeAccessIssue]
        other.exported, other.read_only = set(self.exported), set(self.read_only)
        other.associative, other.integers = set(self.associative), set(self.integers)
        other.scopes = [dict(scope) for scope in self.scopes]
        return other

    def get(self, name: str, key: str | int | None = None) -> str | None:
        """Return a value (of an array: the element `key`, or number 0), or `None` if it is unset."""
        value = self.values.get(name)
        if isinstance(value, dict):
            return value.get("0" if key is None and name in self.associative else 0 if key is None else key)  # pyright: ignore[reportCallIssue, reportArgumentType]
        return value if key in (None, 0) else None

    def set(self, name: str, value: str, key: str | int | None = None) -> None:
        """Set a variable or an array's element.

        Raises:
            ReadOnly: If it may not change.
            Stopped: If the value is too long.
        """
        self.check(name)
        if len(value) > MAX_VALUE:
            raise Stopped(f"a variable of more than {MAX_VALUE} characters")
        old = self.values.get(name)
        if key is None and isinstance(old, dict):
            key = "0" if name in self.associative else 0
        if key is None:
            self.values[name] = value
        elif isinstance(old, dict):
            old[key] = value  # pyright: ignore[reportArgumentType]
            if sum(map(len, old.values())) > MAX_VALUE * 4:
                raise Stopped(f"an array of more than {MAX_VALUE * 4} characters")
        else:
            start: dict[str | int, str] = {0: old} if isinstance(old, str) else {}
            self.values[name] = {**start, key: value}  # pyright: ignore[reportArgumentType]

    def set_array(self, name: str, values: dict[int, str] | dict[str, str]) -> None:
        """Set a whole array."""
        self.check(name)
        if sum(map(len, values.values())) > MAX_VALUE * 4:
            raise Stopped(f"an array of more than {MAX_VALUE * 4} characters")
        self.values[name] = values

    def unset(self, name: str, key: str | int | None = None) -> None:
        """Remove a variable or an array's element."""
        self.check(name)
        value = self.values.get(name)
        if key is not None and isinstance(value, dict):
            value.pop(key, None)  # pyright: ignore[reportCallIssue, reportArgumentType]
            return
        self.values.pop(name, None)
        self.exported.discard(name)
        self.associative.discard(name)
        self.integers.discard(name)

    def elements(self, name: str) -> list[tuple[str | int, str]]:
        """Return the keys and values of an array in order; a plain variable is an array of one."""
        value = self.values.get(name)
        if value is None:
            return []
        if isinstance(value, str):
            return [(0, value)]
        return list(value.items()) if name in self.associative else sorted(value.items())  # pyright: ignore[reportReturnType]

    def check(self, name: str) -> None:
        """Raise `ReadOnly` if a variable may not change."""
        if name in self.read_only:
            raise ReadOnly(f"{name}: readonly variable")

    def local(self, name: str) -> None:
        """Remember a variable's value, to be put back when the function ends."""
        if self.scopes and name not in self.scopes[-1]:
            self.scopes[-1][name] = self.values.pop(name, None)

    def leave(self) -> None:
        """End a function: put the remembered values back."""
        for name, value in self.scopes.pop().items():
            self.associative.discard(name)
            if value is None:
                self.values.pop(name, None)
            else:
                self.values[name] = value

    def environment(self) -> dict[str, str]:
        """Return what a program that is started sees, by name in order."""
        return {name: value for name in sorted(self.exported) if isinstance(value := self.values.get(name), str)}
