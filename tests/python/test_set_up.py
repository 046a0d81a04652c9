"""The set-up names what is missing, one line each, with its remedy."""

import os
import subprocess
import tomllib

import pytest
from conftest import ROOT

NEEDED = ("bash", "env", "dirname", "sed", "awk", "sort", "head", "printf")


def check(tmp_path, present):
    """Run tools/check-tools where only some programs exist."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in NEEDED:
        (folder / name).symlink_to(f"/usr/bin/{name}" if os.path.exists(f"/usr/bin/{name}") else f"/bin/{name}")
    for name, script in present.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/bash", str(ROOT / "tools" / "check-tools")],
        env={"PATH": str(folder), "PYTHON": "python3"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr.splitlines()


GOOD = {"git": "", "cc": "", "cargo": "echo cargo 1.95.0", "python3": ""}


def test_all_is_there(tmp_path):
    assert check(tmp_path, GOOD) == (0, [])


LACKING = [
    ({"git": None}, "git", "apt install git"),
    ({"cc": None}, "C compiler", "apt install build-essential"),
    ({"cargo": None}, "cargo", "rustup"),
    ({"cargo": "echo cargo 1.60.0"}, "found 1.60.0", "rustup update stable"),
    ({"python3": None}, "Python 3.11", "apt install python3 python3-venv"),
    ({"python3": 'case "$2" in *version_info*) exit 1;; *) echo Python 3.9;; esac'}, "Python 3.11", "PYTHON="),
    ({"python3": 'case "$2" in *ensurepip*) exit 1;; esac'}, "venv", "apt install python3-venv"),
]


@pytest.mark.parametrize(("change", "named", "remedy"), LACKING, ids=[case[1] for case in LACKING])
def test_one_line_for_what_is_missing(tmp_path, change, named, remedy):
    present = {name: script for name, script in (GOOD | change).items() if script is not None}
    status, lines = check(tmp_path, present)
    assert status == 1
    assert len(lines) == 1
    assert lines[0].startswith("missing: ")
    assert named in lines[0]
    assert remedy in lines[0]


def test_the_verbs_are_listed():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for verb in ("setup", "demo", "test", "check", "bench", "docs", "clean"):
        assert f"make {verb} " in done.stdout


def test_the_loader_outside_the_workspace_has_its_lints():
    lints = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["lints"]
    assert tomllib.loads((ROOT / "crates/bpfload/Cargo.toml").read_text())["lints"] == lints
