"""A congestion control in a crate of one's own, written by `playpath new control`, built outside the tree, ranked beside cubic."""

import os
import shutil
import subprocess
import sys

import pytest
from conftest import SMALL, playpath_command

import playpath
from playpath.run.own import sources

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo"),
]


def _build(folder):
    flags = {"CARGO_TARGET_DIR": str(folder / "target"), "CARGO_PROFILE_RELEASE_LTO": "off"}
    done = subprocess.run(
        ["cargo", "build", "--release", "--offline", "--quiet"],
        cwd=folder,
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder / "target/release" / f"lib{folder.name}.so"


def _changed(tmp_path, crate, name, file, old, new):
    """A copy of the crate with one place of a file changed, built."""
    folder = tmp_path / name
    shutil.copytree(crate, folder, ignore=shutil.ignore_patterns("target"))
    for path, a, b in ((file, old, new), ("Cargo.toml", 'name = "aimd"', f'name = "{name}"')):
        text = (folder / path).read_text()
        assert text.count(a) == 1
        (folder / path).write_text(text.replace(a, b))
    return _build(folder)


@pytest.fixture(scope="module")
def crate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("crates") / "aimd"
    done = playpath_command("new", "control", "aimd", cwd=folder.parent)
    assert done.status == 0, done.err
    return folder


@pytest.fixture(scope="module")
def library(crate):
    return _build(crate)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(sources, "_folders", [])
    monkeypatch.setattr(sys, "path", list(sys.path))


def test_it_ranks_beside_cubic_and_its_hash_is_in_the_manifest(library):
    result = playpath.compare(SMALL, cc=["cubic", f"{library}:aimd", f"{library}:aimd(gain=4,share=0.2)"])
    assert result.senders == ["cubic", "aimd", "aimd(gain=4,share=0.2)"]
    assert result.values("aimd", "goodput_mbps") != result.values("aimd(gain=4,share=0.2)", "goodput_mbps")
    entry = result.manifest["scenario"]["sender"][1]["cc"]
    assert entry == {"name": "libaimd.so:aimd", "source_sha256": sources.digest("libaimd.so")}
    again = playpath.compare(SMALL, cc=["cubic", f"{library}:aimd", f"{library}:aimd(gain=4,share=0.2)"])
    assert again.digest == result.digest


def test_the_template_is_newreno_in_congestion_avoidance(library):
    """RFC 5681 with a byte count of one segment an ACK: the same as ours but for appropriate byte counting."""
    found = playpath.compare(SMALL, cc=["newreno", f"{library}:aimd"], seeds=4)
    ours, own = (sum(found.values(s, "goodput_mbps")) / 4 for s in found.senders)
    assert own == pytest.approx(ours, rel=0.1)


def test_workers_load_it(library, tmp_path):
    design = {"scenario": SMALL, "cc": ["cubic", f"{library}:aimd"], "seeds": 1, "axis": _AXIS}
    result = playpath.sweep(design, store=tmp_path, jobs=2)
    assert result.errors.is_empty()
    assert set(result.table["cc"]) == {"cubic", "libaimd.so:aimd"}


_AXIS = [{"key": "path.loss", "values": ["0.5 %", "2 %"]}]


def test_another_version_is_refused_with_one_line(tmp_path, crate, small):
    old = _changed(tmp_path, crate, "old", "src/playpath.rs", "VERSION: u32 = 1", "VERSION: u32 = 0")
    done = playpath_command("compare", small, "--cc", f"cubic,{old}:aimd", cwd=tmp_path)
    assert done.status == 2
    assert "speaks version 0 of the border, this playpath version 1" in done.err
    assert len(done.err.splitlines()) == 1


def test_other_records_under_the_same_version_are_refused_too(tmp_path, crate, small):
    """A field more in the record of an ACK, and nobody raised the version."""
    other = _changed(
        tmp_path,
        crate,
        "other",
        "src/playpath.rs",
        "    pub ecn_echo: u32,",
        "    pub ecn_echo: u32,\n    pub more: u64,",
    )
    done = playpath_command("compare", small, "--cc", f"cubic,{other}:aimd", cwd=tmp_path)
    assert done.status == 2
    assert "version 1 of the border with other records" in done.err


def test_a_panic_is_the_runs_error_with_its_line(tmp_path, crate, small):
    first = "        if ack.may_grow == 0 {"
    panics = _changed(tmp_path, crate, "panics", "src/lib.rs", first, f"        assert!(self.cwnd < 12.0);\n{first}")
    done = playpath_command("compare", small, "--cc", f"cubic,{panics}:aimd", cwd=tmp_path)
    assert done.status == 1
    last = done.err.splitlines()[-1]
    assert last.startswith("error: aimd, seed 1: libpanics.so:aimd, in on_ack: src/lib.rs:")
    assert "panicked: assertion failed: self.cwnd < 12.0" in last


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("aimd(gian=2)", 'unknown parameter "gian"; allowed: gain, share'),
        ("aimd(share=2)", "share = 2: must be from 0 to below 1"),
        ("aimb", 'did you mean "aimd"?'),
    ],
)
def test_what_the_library_refuses_is_one_line(library, small, named, said, tmp_path):
    done = playpath_command("compare", small, "--cc", f"cubic,{library}:{named}", cwd=tmp_path)
    assert done.status == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_what_is_no_such_library_is_told(tmp_path, small):
    (tmp_path / "libtext.so").write_text("no library")
    for named, said in (("./libtext.so:aimd", "cannot be loaded"), ("./libnone.so:aimd", "there is no file")):
        done = playpath_command("compare", small, "--cc", f"cubic,{named}", cwd=tmp_path)
        assert (done.status, said in done.err) == (2, True), done.err


def test_the_crates_own_test_passes(crate):
    done = subprocess.run(
        ["cargo", "test", "--offline", "--quiet"], cwd=crate, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_folder_is_never_overwritten_and_the_border_can_be_renewed(crate):
    again = playpath_command("new", "control", "aimd", cwd=crate.parent)
    assert (again.status, "exists; give another --out" in again.err) == (2, True)
    whole = (crate / "src/playpath.rs").read_text()
    (crate / "src/playpath.rs").write_text("// old")
    assert playpath_command("new", "control", "aimd", "--update", cwd=crate.parent).status == 0
    assert (crate / "src/playpath.rs").read_text() == whole
