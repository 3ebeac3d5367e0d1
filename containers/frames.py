"""Frames: how one JSON object at a time crosses a byte stream.

    magic 4 | kind 1 | id 4 | length 4 | body (JSON object, UTF-8)          all numbers big-endian

1. A request carries an id, and its only reply (``OK`` or ``FAULT``) carries the same one. Id 0 is the greeting of a new
   sandbox.
2. Parsing is strict and does no I/O: a wrong magic, kind or length, or a body that is no JSON object, is a
   ``FrameError``; what it means for the sandbox is decided by the caller. A frame that is longer than the cap is
   refused before its body is read.
3. The body is plain JSON data as Python knows it, with NaN, infinities, and lone surrogates in strings.

Sockets, deadlines and the meaning of a body are not known here.
"""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from .session import Json

MAGIC = b"MKSP"
HEADER = struct.Struct("!4sBII")
CAP = 64 << 20
"""Bytes that the body of one frame may have by default."""


class FrameError(ValueError):
    """The bytes are not a frame of this protocol."""


class Kind(IntEnum):
    """What a frame is."""

    REQUEST = 1
    OK = 2
    FAULT = 3


_KINDS = frozenset(kind.value for kind in Kind)


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    kind: Kind
    id: int
    """From 0 to 2**32 - 1."""
    body: Json


def dumps(value: Any) -> bytes:
    """Write plain data as JSON.

    Raises:
        TypeError, ValueError: If the value is not plain data, or is nested too deeply.
    """
    try:
        return to_json(value)
    except (PydanticSerializationError, ValueError):  # e.g. lone surrogates, which only escapes can carry
        return _slow(json.dumps, value).encode()


def loads(data: bytes) -> Any:
    """Read JSON.

    Raises:
        ValueError: If it is none, or is nested too deeply.
    """
    try:
        return from_json(data)
    except ValueError:
        return _slow(json.loads, data)


def copy(value: Json) -> Json:
    """Return the value as it would arrive on the other side: nothing shared, tuples as lists, keys as strings."""
    return loads(dumps(value))


def encode(frame: Frame, cap: int = CAP) -> bytes:
    """Return the frame's bytes.

    Raises:
        FrameError: If the body is longer than ``cap`` bytes.
        TypeError, ValueError: See ``dumps``.
    """
    body = dumps(frame.body)
    if len(body) > cap:
        raise FrameError(f"a body of {len(body)} bytes is over the cap of {cap}")
    return HEADER.pack(MAGIC, frame.kind, frame.id, len(body)) + body


class Parser:
    """Cuts a stream of bytes into frames, however the bytes were torn."""

    def __init__(self, cap: int = CAP) -> None:
        self._cap = cap
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """Bytes that were fed and belong to no frame that was taken."""
        return len(self._buffer)

    def feed(self, data: bytes) -> None:
        """Append what was read from the stream."""
        self._buffer += data

    def take(self) -> Frame | None:
        """Return the next whole frame, or ``None`` if more bytes are needed.

        Raises:
            FrameError: If the stream is not made of frames. Nothing more can be read from it.
        """
        if len(self._buffer) < HEADER.size:
            if not MAGIC.startswith(self._buffer[: len(MAGIC)]):
                raise FrameError(f"no frame begins with {bytes(self._buffer[:4])!r}")
            return None
        kind, number, length = self._header()
        end = HEADER.size + length
        if len(self._buffer) < end:
            return None
        body = bytes(self._buffer[HEADER.size : end])
        del self._buffer[:end]
        return Frame(kind, number, _object(body))

    def _header(self) -> tuple[Kind, int, int]:
        magic, kind, number, length = HEADER.unpack_from(self._buffer)
        if magic != MAGIC or kind not in _KINDS:
            raise FrameError(f"no frame begins with {bytes(self._buffer[: HEADER.size])!r}")
        if length > self._cap:
            raise FrameError(f"a body of {length} bytes is over the cap of {self._cap}")
        return Kind(kind), number, length


def _object(body: bytes) -> Json:
    try:
        value = loads(body)
    except ValueError as error:
        raise FrameError(f"the body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FrameError(f"the body is not a JSON object but {type(value).__name__}")
    return cast("Json", value)


def _slow(function: Any, argument: Any) -> Any:
    try:
        return function(argument)
    except RecursionError:
        raise ValueError("nested too deeply") from None
