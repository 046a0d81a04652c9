"""Names of viewers in the output: those found in logs are hashed with a key of the run, unless they are to be kept.

File names are not hashed: whoever runs the command chose them.
"""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass

EVERYONE = "all"
"""The name of the session in a log that names no sessions."""


@dataclass(frozen=True)
class Names:
    """Names for the viewers of one run. The key is not stored, so that nobody can find an address by trying them all."""

    key: bytes | None
    """The key; None if names are kept."""

    @classmethod
    def of_run(cls, keep_names: bool) -> Names:
        """Names with a new key, or without one to keep names."""
        return cls(None if keep_names else secrets.token_bytes(16))

    def of(self, name: str) -> str:
        if self.key is None or name == EVERYONE:
            return name
        return hmac.digest(self.key, name.encode("utf-8", "surrogatepass"), "sha256").hex()[:16]
