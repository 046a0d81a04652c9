"""Where the kernel world's programs are found: a wheel's own before a source tree's."""

from pathlib import Path

import pytest

from playpath.real.testbed.errors import MissingToolError
from playpath.real.testbed.programs import find


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A source tree with an empty package, on a machine without any of our programs."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    for variable in ("PLAYPATH_EMULATOR", "PLAYPATH_BPF"):
        monkeypatch.delenv(variable, raising=False)
    (tmp_path / "bpf").mkdir()
    (tmp_path / "python/playpath").mkdir(parents=True)
    return tmp_path


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


def test_the_package_comes_before_the_tree_and_the_tree_before_the_path(tree, monkeypatch):
    package = tree / "python/playpath"
    monkeypatch.setenv("PATH", str(tree / "usr/bin"))
    installed = program(tree / "usr/bin/playpath-emulator")
    assert find("playpath-emulator", package) == installed
    built = program(tree / "target/release/playpath-emulator")
    assert find("playpath-emulator", package) == built
    shipped = program(package / "bin/playpath-emulator")
    assert find("playpath-emulator", package) == shipped


def test_the_loader_has_a_target_folder_of_its_own(tree):
    built = program(tree / "crates/bpfload/target/release/playpath-bpf")
    assert find("playpath-bpf", tree / "python/playpath") == built


def test_what_the_user_names_is_taken_or_refused(tree, monkeypatch):
    own = program(tree / "mine")
    monkeypatch.setenv("PLAYPATH_BPF", own)
    assert find("playpath-bpf", tree / "python/playpath") == own
    monkeypatch.setenv("PLAYPATH_BPF", str(tree / "nowhere"))
    with pytest.raises(MissingToolError, match=r"^PLAYPATH_BPF: '.*nowhere' is not a program$"):
        find("playpath-bpf", tree / "python/playpath")


def test_the_remedy_is_one_that_works_here(tree):
    with pytest.raises(MissingToolError, match=r"^playpath-bpf is missing: `make kernel` builds it"):
        find("playpath-bpf", tree / "python/playpath")
    with pytest.raises(
        MissingToolError, match=r"^playpath-serve is missing: `cargo build --release -p playpath-serve` "
    ):
        find("playpath-serve", tree / "python/playpath")
    (tree / "bpf").rmdir()
    with pytest.raises(MissingToolError, match=r"install a wheel of `make wheel`$"):
        find("playpath-bpf", tree / "python/playpath")
