"""The state of a session: the document, the documents before it, and which of them were exported.

All of it is plain data; shapes are derived from it elsewhere.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field

from ..base import ToolFault
from ..tools import nearest, shown
from .document import Features, features_of, key_of, plain

MAX_UNDO = 64
"""Most documents kept for ``undo``; older ones are forgotten."""
SHOWN_NAMES = 16
"""Most names of features that an error lists."""


@dataclass
class History:
    """A document and what ``undo`` leads back to."""

    features: Features = ()
    undo: list[Features] = field(default_factory=list[Features])
    exports: dict[str, Features] = field(default_factory=dict[str, Features])
    """The document that each exported file was made from, by format."""
    last_ok: bool = True
    """Whether the last call was accepted; part of the snapshot, not of the digest."""

    def commit(self, features: Features) -> None:
        """Make ``features`` the document."""
        self.undo = [*self.undo, self.features][-MAX_UNDO:]
        self.features = features

    def place(self, name: str) -> int:
        """Return the place of a feature in the document.

        Raises:
            ToolFault: If there is none of that name.
        """
        names = [f.name for f in self.features]
        if name not in names:
            hint = f"features: {', '.join(names[-SHOWN_NAMES:])}"
            raise ToolFault("not_found", f"there is no feature {shown(name)}", hint, nearest(name, names))
        return names.index(name)

    def to_bytes(self) -> bytes:
        """Return the state as JSON."""
        state = {
            "features": plain(self.features),
            "undo": [plain(features) for features in self.undo],
            "exports": {form: plain(features) for form, features in sorted(self.exports.items())},
            "last_ok": self.last_ok,
        }
        return json.dumps(state, separators=(",", ":")).encode()

    @staticmethod
    def from_bytes(data: bytes) -> History:
        """Rebuild a state from ``to_bytes`` output."""
        state = json.loads(data)
        undo = [features_of(features) for features in state["undo"]]
        exports = {form: features_of(features) for form, features in state["exports"].items()}
        return History(features_of(state["features"]), undo, exports, state["last_ok"])

    def digest(self) -> str:
        """Return a hexadecimal digest of the documents and exports."""
        exports = {form: key_of(features) for form, features in self.exports.items()}
        state = [key_of(self.features), [key_of(features) for features in self.undo], exports]
        return hashlib.blake2b(json.dumps(state, sort_keys=True).encode(), digest_size=16).hexdigest()
