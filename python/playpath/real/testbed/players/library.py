"""A player's script from npm: fetched once, and accepted only if it is the expected file."""

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playpath.real.testbed import media
from playpath.real.testbed.errors import MissingToolError, TestbedError


@dataclass(frozen=True)
class Library:
    """A file of an npm package."""

    title: str
    """Display name."""
    package: str
    version: str
    member: str
    """`package`, `version` and `member`: where the file is in npm."""
    sha256: str
    """SHA-256 of the file."""
    variable: str
    """The environment variable that may name another file to use instead."""

    @property
    def stored(self) -> Path:
        """The file's path: the user's own file, otherwise one in the cache, which may not exist yet."""
        own = os.environ.get(self.variable)
        folder = media.cache_folder() / self.package
        return Path(own) if own else folder / f"{self.version}-{Path(self.member).name}"

    def script(self) -> Path:
        """The file, fetched if necessary."""
        if self.stored.is_file():
            return self.stored
        if self.variable in os.environ:
            raise MissingToolError(f"{self.variable}: there is no file {self.stored}")
        self._fetch()
        return self.stored

    def _fetch(self) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise MissingToolError(
                f"npm is missing, which fetches {self.title}; apt install npm, or name a file with {self.variable}=FILE"
            )
        self.stored.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.stored.parent) as folder:
            command = [npm, "pack", "--silent", f"{self.package}@{self.version}"]
            subprocess.run(command, check=False, capture_output=True, cwd=folder, timeout=120)
            archives = list(Path(folder).glob("*.tgz"))
            if not archives:
                raise MissingToolError(
                    f"`npm pack {self.package}@{self.version}` could not fetch {self.title}; name a file with {self.variable}=FILE"
                )
            with tarfile.open(archives[0]) as archive:
                member = archive.extractfile(self.member)
                content = member.read() if member else b""
            found = hashlib.sha256(content).hexdigest()
            if found != self.sha256:
                raise TestbedError(f"{self.title} {self.version} is not the expected file (SHA-256 {found})")
            draft = Path(folder) / "script.js"
            draft.write_bytes(content)
            draft.replace(self.stored)
