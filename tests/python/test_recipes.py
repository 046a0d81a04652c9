"""The recipes are true: each is followed in a scratch copy of the workspace."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from scratch import ROOT, Scratch

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not installed")

LIST = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("_engine", sys.argv[1])
engine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(engine)
print(engine.registry(sys.argv[2]))
"""


def registered(kind: str) -> list[str]:
    """What the engine of the scratch copy, which was just built, lists of a kind."""
    library = ROOT / "target/debug/lib_engine.so"
    done = subprocess.run([sys.executable, "-c", LIST, str(library), kind], check=True, capture_output=True, text=True)
    return [entry["name"] for entry in json.loads(done.stdout)]


def test_a_congestion_control_is_a_new_file_and_a_line() -> None:
    scratch = Scratch("control")
    controls = scratch.folder / "crates/cc/src/controls.rs"
    # The example is compiled by the crate's own tests, too: there it is not registered.
    before, example = controls.read_text().split("\n#[cfg(test)]\n", 1)
    assert "recipes/scalable.rs" in example
    # Steps 1 and 2 of docs/recipes/add-a-congestion-control.md.
    shutil.copy2(ROOT / "docs/recipes/scalable.rs", controls.with_name("controls") / "scalable.rs")
    controls.write_text(before.replace("mod newreno;\n", "mod newreno;\nmod scalable;\n"))
    scratch.cargo("test", "-p", "playpath-cc", "--lib", "--test", "contract", "--test", "allocation")
    scratch.cargo("build", "-p", "playpath-python")
    assert "scalable" in registered("cc")
