"""A copy of the workspace, in which tests do what a recipe says."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]
_COPIED = ("Cargo.toml", "Cargo.lock", "clippy.toml", "crates", "docs/recipes", "fuzz", "media")
_LEFT_OUT = shutil.ignore_patterns("target")


class Scratch:
    """A copy called `name` of what Rust needs.

    It is built into the workspace's own target folder, where the libraries are already. It stays at its place and keeps the files'
    times, so that our crates are compiled again only when they have changed; another version keeps its crates apart from those of
    the workspace, for which cargo would otherwise take them.
    """

    def __init__(self, name: str) -> None:
        self.folder = ROOT / "target" / "recipes" / name
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in _COPIED:
            source, to = ROOT / part, self.folder / part
            to.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, to, ignore=_LEFT_OUT)
            else:
                shutil.copy2(source, to)
        manifest = self.folder / "Cargo.toml"
        manifest.write_text(manifest.read_text().replace('\nversion = "', f'\nversion = "0.0.0-{name}.', 1))

    def cargo(self, *words: str) -> None:
        """Run cargo; a failed assertion with its words if it fails."""
        environment = os.environ | {"CARGO_TARGET_DIR": str(ROOT / "target"), "PYO3_BUILD_EXTENSION_MODULE": "1"}
        command = ["cargo", *words, "--quiet", "--offline"]
        done = subprocess.run(command, cwd=self.folder, env=environment, check=False, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
