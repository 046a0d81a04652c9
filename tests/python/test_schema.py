"""The JSON Schema of documents says what the engine says; help and word lists follow from the same declarations."""

import ast
import contextlib
import copy
import json
import random
import tomllib
from pathlib import Path

import jsonschema
import pytest
from conftest import ROOT, SCENARIOS, playpath_command

import playpath
from playpath.base import engine
from playpath.base.errors import InputError
from playpath.population.spec import MAX_SESSIONS
from playpath.scenario import keys

SCHEMAS = {name: json.loads(engine.schema(name)) for name in engine.DOCUMENTS}
VALIDATORS = {name: jsonschema.Draft202012Validator(schema) for name, schema in SCHEMAS.items()}
SHIPPED = [
    *[("scenario", file) for file in SCENARIOS],
    *[("sweep", file) for file in sorted((ROOT / "scenarios" / "designs").glob("*.toml"))],
    *[("population", file) for file in sorted((ROOT / "scenarios" / "populations").glob("*.toml"))],
]
BASE = {
    "name": "base",
    "video": {"rate": "1 Mbit/s", "duration": "5 s"},
    "player": {"kind": "progressive"},
    "link": [{"name": "core", "rate": "50 Mbit/s"}],
    "path": [{"name": "wifi", "rate": "9 Mbit/s", "rtt": "20 ms"}],
    "sender": [{"cc": "cubic"}],
    "traffic": [{"kind": "web", "name": "cross"}],
    "run": {"seeds": 2},
}
IN_COMPANY = {
    "trace",
    "wifi",
    "start",
    "manifest",
    "quality",
    "source",
    "stop",
    "too_big",
    "transport",
    "via",
    "paths",
    "think_time",
    "inter_arrival",
    "abr",
}
"""Keys whose values depend on others; Rust tests them one by one (crates/scenario/tests/declarations.rs)."""
TABLES = ("video", "player", "link", "path", "sender", "traffic", "run")
WRONG = {
    "time": ["5", "5 parsecs", "-1 ms", True, 7],
    "rate": ["0 Mbit/s", "5 ms", "fast", False, 20],
    "size": ["0 kB", "5 ms", "-3 kB", True],
    "share": ["150 %", "-1 %", "0.5", True, 3],
    "word": ["nonsense", 5, True],
    "switch": ["yes", 1],
    "text": [5, True, {"a": 1}],
    "number": ["x", True, 1e12, -1e12],
    "whole number": ["x", True, 1.5, -1],
    "table": [5, "text", True],
    "text or list of texts": [5, [1], {"a": "b"}],
}


def declared(table):
    """Every key of a table in `BASE`."""
    tag = {"player": "progressive", "traffic": "web"}.get(table)
    found = list(keys.table_keys(table))
    choice = keys.tables()[table]["choice"]
    for variant in choice["variants"] if choice else ():
        found += variant["keys"] if variant["name"] == tag else []
    return [key for key in found if key["name"] not in IN_COMPANY and key["name"] not in ("kind", "name")]


def with_value(table, name, value):
    document = copy.deepcopy(BASE)
    entry = document[table]
    (entry[0] if isinstance(entry, list) else entry)[name] = value
    return document


def typed(key):
    """Values that are right: the example, the default, every word."""
    found = [tomllib.loads(f"x = {key['example']}")["x"]] if key["example"] else []
    found += [] if key["default"] == "" else [key["default"]]
    return found + ([word for word, _ in key["words"]] if key["type"] == "word" else [])


def accepts(document):
    """Whether engine and schema take a scenario."""
    try:
        playpath.load(document)
        taken = True
    except InputError:
        taken = False
    return taken, VALIDATORS["scenario"].is_valid(document)


@pytest.mark.parametrize(("kind", "file"), SHIPPED, ids=lambda value: getattr(value, "stem", value))
def test_shipped_documents_are_valid_and_name_their_schema(kind, file):
    text = file.read_text()
    VALIDATORS[kind].validate(tomllib.loads(text))
    named = Path(text.splitlines()[0].removeprefix("#:schema "))
    assert json.loads((file.parent / named).read_text()) == SCHEMAS[kind]


@pytest.mark.parametrize("file", [file for kind, file in SHIPPED if kind == "scenario"], ids=lambda file: file.stem)
def test_resolved_scenarios_are_valid(file):
    VALIDATORS["scenario"].validate(without_nulls(playpath.load(file).resolved))


def without_nulls(value):
    if isinstance(value, dict):
        return {key: without_nulls(inner) for key, inner in value.items() if inner is not None}
    return [without_nulls(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("document", engine.DOCUMENTS)
def test_schemas_are_schemas(document):
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[document])


@pytest.mark.slow
def test_drawn_right_documents_are_taken_by_engine_and_schema():
    draw = random.Random(1)
    for _ in range(150):
        document = copy.deepcopy(BASE)
        for table in draw.sample(TABLES, 3):
            entry = document[table]
            own = entry[0] if isinstance(entry, list) else entry
            for key in draw.sample(declared(table), min(4, len(declared(table)))):
                if values := typed(key):
                    own[key["name"]] = draw.choice(values)
        for sender in (document["sender"][0], document["traffic"][0]):
            sender.pop("scheduler", None)
            sender.pop("handover", None)  # needs a second path
        assert accepts(document) == (True, True), document


def test_drawn_wrong_documents_are_refused_by_engine_and_schema():
    tried = 0
    for table in TABLES:
        assert accepts(with_value(table, "nonsense", 1)) == (False, False)
        for key in declared(table):
            for value in WRONG.get(key["type"], ()):
                if key["type"] == "text" and isinstance(value, dict) and key["allowed"] == "a file's name":
                    continue
                document = with_value(table, key["name"], value)
                assert accepts(document) == (False, False), (table, key["name"], value)
                tried += 1
    assert tried > 150


def test_help_tells_of_keys(capsys):
    output = playpath_command("help", "path.queue").out
    assert "path.queue" in output
    assert "tail drop of 1 bdp" in output
    assert "link.queue" in output
    plain = json.loads(playpath_command("help", "seeds", "--json").out)
    assert {key["place"] for key in plain} == {"run.seeds", "seeds"}
    wrong = playpath_command("help", "lsos")
    assert (wrong.status, wrong.err.strip()) == (
        2,
        'error: unknown key "lsos"; did you mean "loss"? `playpath help` lists all',
    )


def test_the_schema_command_prints_it():
    assert json.loads(playpath_command("schema").out) == SCHEMAS["scenario"]
    assert playpath_command("schema", "scenaro").status == 2


def test_word_lists_are_those_of_the_declarations():
    words = {key["name"]: dict(key["words"]) for key in keys.table_keys("sender")}
    for kind in ("profile", "validation", "pacing"):
        assert {entry["name"]: entry["summary"] for entry in engine.registry(kind)} == words[kind]
    (sessions,) = [key for key in keys.table_keys("population") if key["name"] == "sessions"]
    assert sessions["allowed"].endswith(f"to {MAX_SESSIONS}")


def test_a_scenario_is_built_of_its_parts_or_of_text():
    parts: playpath.Document = {
        "name": "built",
        "video": playpath.Video(rate="1 Mbit/s", duration="5 s"),
        "path": [playpath.Path(name="wifi", rate="9 Mbit/s", rtt="20 ms")],
        "sender": [playpath.Sender(cc="cubic"), playpath.Sender(cc={"name": "ccplb", "pob_rate": 2})],
        "run": playpath.Run(seeds=3),
    }
    built = playpath.Scenario.build(parts)
    assert playpath.Scenario.build(**parts) == built
    text = """name = "built"
video = { rate = "1 Mbit/s", duration = "5 s" }
path = [{ name = "wifi", rate = "9 Mbit/s", rtt = "20 ms" }]
sender = [{ cc = "cubic" }, { cc = { name = "ccplb", pob_rate = 2 } }]
run = { seeds = 3 }"""
    assert built == playpath.Scenario.from_toml(text)
    assert built.senders == ["cubic", "ccplb(pob_rate=2)"]
    assert playpath.compare(built, cc="newreno", seeds=1).senders == ["newreno"]


def test_types_are_those_of_the_declarations():
    """As classes, and for type checkers, whose form the build makes (tools/typed_forms.py)."""
    form = ast.parse((ROOT / "python/playpath/scenario/document.pyi").read_text()).body
    fields = {
        of.name: {field.target.id for field in of.body if isinstance(field, ast.AnnAssign)}
        for of in form
        if isinstance(of, ast.ClassDef)
    }
    for table, typed_class in (("viewer", playpath.Viewer), ("run", playpath.Run), ("sweep", playpath.Design)):
        assert typed_class.__name__ == keys.class_name(table)
        assert fields[typed_class.__name__] == {key["name"] for key in keys.table_keys(table)}
        assert fields[typed_class.__name__] == typed_class.__annotations__.keys()


ADAPTIVE = 'kind = "dash", abr = "throughput", ladder = "500 kbit/s, 1 Mbit/s"'
CONTEXTS = [
    f"""
video = {{ rate = "1 Mbit/s", duration = "20 s" }}
player = {{ {player} }}
path = [{{ name = "a", rate = "5 Mbit/s", rtt = "40 ms" }}]
sender = [{{ cc = "cubic", transport = "{transport}" }}]
traffic = [{{ {traffic} }}]"""
    for player, transport, traffic in (
        ('kind = "progressive"', "tcp", 'kind = "bulk"'),
        (ADAPTIVE, "tcp", 'kind = "web"'),
        (f'{ADAPTIVE}, latency_target = "3 s"', "quic", 'kind = "web"'),
        ('kind = "agent"', "tcp", 'kind = "udp", rate = "1 Mbit/s"'),
    )
]


def test_what_is_read_is_written_back():
    """A key that is missing in the resolved scenario is missing in every manifest. Each is given its example, where it can stand."""
    tried = 0
    for key in keys.all_keys():
        if key.document != "scenario" or not key.declared["example"] or key.declared["table"]:
            continue
        changes = {key.place: tomllib.loads(f"value = {key.declared['example']}")["value"]}
        resolved = []
        for text in CONTEXTS:
            with contextlib.suppress(InputError):
                resolved.append(playpath.load(text, set=changes).resolved)
        assert not resolved or any(map(has(key.name), resolved)), key.place
        tried += bool(resolved)
    assert tried > 90


def has(name: str):
    """Whether a key has a value anywhere in a document."""

    def found(node):
        if isinstance(node, dict):
            return node.get(name) is not None or any(map(found, node.values()))
        return isinstance(node, list) and any(map(found, node))

    return found


def test_a_key_that_is_newer_than_the_first_version_says_so():
    first = set((ROOT / "tests/python/keys_of_0_1.txt").read_text().split())
    shown = {f"{table}.{key['name']}": key["since"] for table, spec in keys.tables().items() for key in spec["keys"]}
    assert {key for key, since in shown.items() if since == "0.1"} == first & shown.keys()
