"""Text and bytes: files hold bytes, the shell holds text.

Bytes that are not UTF-8 travel as surrogate escapes and come back unchanged.
"""

from __future__ import annotations

import re

_LONE = re.compile("[\ud800-\udc7f\udd00-\udfff]")


def to_text(data: bytes) -> str:
    """Decode bytes so that `to_bytes` gives them back."""
    return data.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Encode text; escaped bytes come back as they were, other lone surrogates become `?`."""
    return _LONE.sub("?", text).encode("utf-8", "surrogateescape")


def shown(text: str) -> str:
    """Return text as a reader gets it: bytes that are no UTF-8 become U+FFFD."""
    return to_bytes(text).decode("utf-8", "replace")
