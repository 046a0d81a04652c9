"""What viewers found inside logs are called in what is written: hashed with a key of the run, unless their names are to be kept.

Names of files stay: whoever runs the command chose them.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

EVERYONE = "all"
"""Whose the rows of a log are that names nobody."""


@dataclass(frozen=True)
class Names:
    """Names for the viewers of one run. The key is kept nowhere, so that nobody can try addresses until the hash is met."""

    key: bytes | None
    """None: names are kept."""

    @classmethod
    def of_run(cls, keep_names: bool) -> Names:
        """With a new key, or with none."""
        return cls(None if keep_names else secrets.token_bytes(16))

    def of(self, name: str) -> str:
        if self.key is None or name == EVERYONE:
            return name
        return hmac.new(self.key, name.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:16]
