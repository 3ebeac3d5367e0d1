"""Spaces for text: any string is a member, a sample is short and readable, a pickle is small.

``gymnasium.spaces.Text`` lists its characters, so that a space of all Unicode text would weigh 46 MB; here membership
asks for the length only and the character set (printable ASCII) serves sampling alone. Text, its shared memory for
``AsyncVectorEnv`` and its flattening hold code points, so that no character is lost on the way.
"""

from __future__ import annotations

import multiprocessing
import string
from collections.abc import Iterator
from types import ModuleType
from typing import Any, cast

import numpy as np
from gymnasium.spaces import Box, Text, utils
from gymnasium.vector.utils import shared_memory as memory
from numpy.typing import NDArray

PRINTABLE = "".join(sorted(c for c in string.printable if c.isprintable()))
LONGEST_SAMPLE = 32
"""Characters in the longest random sample: a sample is for checks, and nobody reads a random page."""
NO_CHARACTER = 0x110000
"""Pads flattened text: one more than the last code point of Unicode."""


class UnicodeText(Text):
    """All strings of ``min_length`` to ``max_length`` characters.

    Example:
        >>> UnicodeText(5).contains("naïve"), UnicodeText(4).contains("naïve")
        (True, False)
    """

    def __init__(self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=min_length, charset=PRINTABLE, seed=seed)

    def contains(self, x: Any) -> bool:
        """Return whether ``x`` is a string of an allowed length."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Return a short string of printable ASCII; ``mask`` and ``probability`` are those of ``Text.sample``."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        longest = max(self.min_length, min(self.max_length, LONGEST_SAMPLE))
        return super().sample(mask=(int(self.np_random.integers(self.min_length, longest + 1)), None))

    def __eq__(self, other: object, /) -> bool:
        return type(other) is type(self) and (self.min_length, self.max_length) == (other.min_length, other.max_length)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.min_length, self.max_length))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.max_length}, min_length={self.min_length})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the lengths and the generator; the character set is known."""
        state = {key: value for key, value in vars(self).items() if not key.startswith("_char")}
        return _rebuild, (type(self),), state


def _rebuild(kind: type[UnicodeText]) -> UnicodeText:
    space = kind.__new__(kind)
    UnicodeText.__init__(space, 1)
    return space


def to_codes(text: str) -> NDArray[np.int32]:
    """Return the code points of a text, shape (characters,)."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<i4").astype(np.int32)


def from_codes(codes: NDArray[np.int32]) -> str:
    """Return the text of code points; the inverse of ``to_codes``."""
    return codes.astype("<i4").tobytes().decode("utf-32-le", "surrogatepass")


@utils.flatten_space.register(UnicodeText)
def _flatten_space(space: UnicodeText) -> Box:  # pyright: ignore[reportUnusedFunction]
    return Box(0, NO_CHARACTER, (space.max_length,), np.int32)


@utils.flatten.register(UnicodeText)
def _flatten(space: UnicodeText, x: str) -> NDArray[np.int32]:  # pyright: ignore[reportUnusedFunction]
    out = np.full(space.max_length, NO_CHARACTER, np.int32)
    out[: len(x)] = to_codes(x)
    return out


@utils.unflatten.register(UnicodeText)
def _unflatten(space: UnicodeText, x: NDArray[np.int32]) -> str:  # noqa: ARG001  # pyright: ignore[reportUnusedFunction]
    return from_codes(x[x < NO_CHARACTER])


@utils.is_space_dtype_shape_equiv.register(UnicodeText)
def _equivalent(space_1: UnicodeText, space_2: object) -> bool:  # pyright: ignore[reportUnusedFunction]
    return isinstance(space_2, UnicodeText) and space_1.max_length == space_2.max_length


@memory.create_shared_memory.register(UnicodeText)
def _create(space: UnicodeText, n: int = 1, ctx: ModuleType = multiprocessing) -> Any:  # pyright: ignore[reportUnusedFunction]
    return cast("Any", ctx).Array("i", n * (space.max_length + 1))


def _rows(space: UnicodeText, array: Any) -> NDArray[np.int32]:
    """View shared memory as rows of a length and the code points, shape (n, 1 + max_length)."""
    return np.frombuffer(array.get_obj(), np.int32).reshape(-1, space.max_length + 1)


class SharedTexts(tuple[str, ...]):
    """The texts that stand in shared memory *now*; a copy is a plain tuple.

    ``AsyncVectorEnv`` reads its memory once and trusts that what it got follows every write.
    """

    _rows: NDArray[np.int32]

    @staticmethod
    def of(rows: NDArray[np.int32]) -> SharedTexts:
        """Return a live view of rows of a length and the code points, shape (n, 1 + max_length)."""
        texts = SharedTexts([""] * len(rows))
        texts._rows = rows
        return texts

    def __getitem__(self, index: Any) -> Any:
        return (
            tuple(self)[index]
            if isinstance(index, slice)
            else from_codes(self._rows[index][1 : 1 + self._rows[index][0]])
        )

    def __iter__(self) -> Iterator[str]:
        return (self[i] for i in range(len(self)))

    def __contains__(self, text: object) -> bool:
        return any(text == mine for mine in self)

    def __eq__(self, other: object) -> bool:
        return tuple(self) == other

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self),)


@memory.read_from_shared_memory.register(UnicodeText)
def _read(space: UnicodeText, shared_memory: Any, n: int = 1) -> SharedTexts:  # noqa: ARG001  # pyright: ignore[reportUnusedFunction]
    return SharedTexts.of(_rows(space, shared_memory))


@memory.write_to_shared_memory.register(UnicodeText)
def _write(space: UnicodeText, index: int, value: str, shared_memory: Any) -> None:  # pyright: ignore[reportUnusedFunction]
    row = _rows(space, shared_memory)[index]
    row[0] = len(value)
    row[1 : 1 + len(value)] = to_codes(value)
