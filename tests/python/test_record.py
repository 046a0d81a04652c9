"""A record's schema, its reference page, and records of other versions."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import jsonschema
import pytest

import playpath
from playpath.base import engine
from playpath.base.errors import InputError
from playpath.results.record import Session

ROOT = Path(__file__).parents[2]
TWO_PATHS = """
video = { rate = "1 Mbit/s", duration = "2 s" }
path = [{ name = "a", rate = "2 Mbit/s", rtt = "20 ms" }, { name = "b", rate = "2 Mbit/s", rtt = "30 ms" }]
sender = [{ cc = "cubic" }]
traffic = [{ kind = "video", cc = "newreno", paths = ["a"] }, { kind = "bulk", cc = "vegas", paths = ["b"] }]
"""


def session() -> Session:
    return playpath.run(playpath.load(TWO_PATHS), trace=True)


def schema() -> dict:
    return json.loads(engine.record_reference()[0])


def test_a_record_is_as_its_schema_says() -> None:
    found = session().to_dict()
    jsonschema.validate(found, schema())
    assert found["schema"] == engine.SCHEMA_VERSION
    assert found.keys() == schema()["properties"].keys()


@pytest.mark.parametrize(
    "change",
    [{"metrics": {"stall_tyme_s": 1.0}}, {"seed": "one"}, {"links": [{"name": "x"}]}, {"schema": 0}, {"flows": None}],
)
def test_the_schema_refuses_other_things(change: dict) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(session().to_dict() | change, schema())


def test_every_metric_has_a_line_in_the_schema_and_on_the_page() -> None:
    *_, page = engine.record_reference()
    entries = engine.registry("metric")
    assert all(f"| `{entry['name']}` |" in page for entry in entries)
    known = schema()["properties"]["metrics"]["properties"]
    assert known.keys() == {entry["name"] for entry in entries if entry["of"] != "all flows, links"}


def test_the_reference_is_current(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "docs")  # as it is when the file itself is run
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    for file, text in made.pages().items():
        assert file.read_text() == text, f"{file.name} is out of date: make reference"


def test_a_handshake_that_never_ends_has_lost_packets() -> None:
    lost = {"path.a.loss": "100 %", "path.b.loss": "100 %", "run.duration": "10 s"}
    told = playpath.run(playpath.load(TWO_PATHS, set=lost)).warnings
    assert not [text for text in told if "no packet was lost" in text], told


def test_records_of_other_versions(tmp_path: Path) -> None:
    session().save(tmp_path)
    file = tmp_path / "record.json"
    stored = json.loads(file.read_text())
    assert Session.load(tmp_path).schema == stored.pop("schema") == engine.SCHEMA_VERSION
    file.write_text(json.dumps(stored))
    assert Session.load(tmp_path).schema == 0
    file.write_text(json.dumps(stored | {"schema": 99}))
    with pytest.raises(InputError, match="schema 99 is newer than this playpath's; allowed: up to 1"):
        Session.load(tmp_path)
