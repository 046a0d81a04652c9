"""A player's own script, as npm has it: fetched once, and only the file that is expected."""

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
    """A file of a package."""

    title: str
    """What people call it."""
    package: str
    version: str
    member: str
    """`package`, `version` and `member`: where npm has it."""
    sha256: str
    """Of the file."""
    variable: str
    """The environment variable that names a file in its place."""

    @property
    def stored(self) -> Path:
        """Where it lies, or will: the user's own file, else the cache."""
        own = os.environ.get(self.variable)
        folder = media.cache_folder() / self.package
        return Path(own) if own else folder / f"{self.version}-{Path(self.member).name}"

    def script(self) -> Path:
        """The file, fetched if need be."""
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
                f"npm is missing: it fetches {self.title}; apt install npm, or {self.variable}=FILE names one"
            )
        self.stored.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self.stored.parent) as folder:
            command = [npm, "pack", "--silent", f"{self.package}@{self.version}"]
            subprocess.run(command, check=False, capture_output=True, cwd=folder, timeout=120)
            archives = list(Path(folder).glob("*.tgz"))
            if not archives:
                raise MissingToolError(
                    f"`npm pack {self.package}@{self.version}` did not fetch {self.title}; {self.variable}=FILE names one"
                )
            with tarfile.open(archives[0]) as archive:
                member = archive.extractfile(self.member)
                content = member.read() if member else b""
            found = hashlib.sha256(content).hexdigest()
            if found != self.sha256:
                raise TestbedError(f"{self.title} {self.version} is not the file that was expected (SHA-256 {found})")
            draft = Path(folder) / "script.js"
            draft.write_bytes(content)
            draft.replace(self.stored)
