"""A record's parts and what is measured for one, as typed dictionaries in Python, from their JSON Schemas."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from keyword import iskeyword
from pathlib import Path
from typing import Any

from typed_documents import INDENTS, PACKAGE

Schema = Mapping[str, Any]

PLAIN = {"string": "str", "number": "float", "integer": "int", "boolean": "bool", "null": "None"}
EVENT = "EventRecord"
"""Entries of a playback log differ in their fields: one class holds them all."""


@dataclass(frozen=True)
class Form:
    """One module: its schema, what it is for, the class of the whole if it has one, and the classes that another module has."""

    file: Path
    schema: str
    about: str
    whole: str = ""
    imported: tuple[str, ...] = ()
    has_descriptions: bool = True
    """Of each field. What only our own worlds fill in is described where it is declared."""


def modules(record: str, measurements: str) -> dict[Path, str]:
    """Both modules: file → text. The arguments are the JSON Schemas."""
    forms = (
        Form(PACKAGE / "results/recorded.pyi", record, "What a run leaves, typed: the parts of a record."),
        Form(
            PACKAGE / "results/measured.pyi",
            measurements,
            "What a world other than the simulator measures of a run, typed (fields: crates/record/src/measurements.rs).",
            "Measurements",
            (EVENT, "LinkRecord", "ClassRecord"),
            has_descriptions=False,
        ),
    )
    return {form.file: module(form) for form in forms}


def module(form: Form) -> str:
    """The text of a module."""
    schema = json.loads(form.schema)
    classes = schema["$defs"] | {EVENT: event(schema)} | ({form.whole: schema} if form.whole else {})
    text = [
        f'"""{form.about}',
        "",
        "Made from the engine's declarations by `tools/typed_forms.py`.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "from typing import Any, Literal, NotRequired, TypedDict",
    ]
    if form.imported:
        text += ["", f"from playpath.results.recorded import {', '.join(form.imported)}"]
    for name, of in classes.items():
        if name not in form.imported:
            text += ["", "", *typed_class(name, of, form.has_descriptions)]
    return "\n".join(text) + "\n"


def event(schema: Schema) -> Schema:
    """All fields of all entries of the first playback log that the schema has."""
    logs = [of["properties"]["events"] for of in (schema, *schema["$defs"].values()) if "events" in of["properties"]]
    kinds = logs[0]["items"]["anyOf"]
    fields: dict[str, Any] = {name: field for kind in kinds for name, field in kind["properties"].items()}
    fields["event"] = {
        "enum": [kind["properties"]["event"]["const"] for kind in kinds],
        "description": "What happened.",
    }
    about = "One entry of a playback log; which fields it has depends on `event`."
    return {"description": about, "properties": fields, "required": kinds[0]["required"]}


def typed_class(name: str, schema: Schema, has_descriptions: bool) -> list[str]:
    """One typed dictionary."""
    types = {field: python(of) for field, of in schema["properties"].items()}
    needed = schema.get("required", ())
    types = {field: of if field in needed else f"NotRequired[{of}]" for field, of in types.items()}
    if any(map(iskeyword, types)):
        fields = ", ".join(f'"{field}": {of}' for field, of in types.items())
        return [f'{name} = TypedDict("{name}", {{{fields}}})', f'"""{schema["description"]}"""']
    lines = [f"class {name}(TypedDict):", *comment(schema["description"])]
    if not has_descriptions:
        return [*lines, "", *(f"    {field}: {of}" for field, of in types.items())]
    for field, of in schema["properties"].items():
        lines += ["", f"    {field}: {types[field]}", *(comment(of["description"]) if "description" in of else [])]
    return lines


def comment(text: str) -> list[str]:
    """A docstring, wrapped."""
    return textwrap.wrap(f'"""{" ".join(text.split())}"""', 116, **dict.fromkeys(INDENTS, "    "))


def python(of: Schema) -> str:
    """The type of a value."""
    if "$ref" in of:
        return str(of["$ref"].rsplit("/", 1)[1])
    if "enum" in of or "const" in of:
        return f"Literal[{', '.join(json.dumps(word) for word in of.get('enum', [of.get('const')]))}]"
    if "anyOf" in of:
        return EVENT if "properties" in of["anyOf"][0] else " | ".join(map(python, of["anyOf"]))
    kinds = of["type"] if isinstance(of["type"], list) else [of["type"]]
    return " | ".join(container(of) if kind in ("array", "object") else PLAIN[kind] for kind in kinds)


def container(of: Schema) -> str:
    """The type of a list or of a mapping; figures by name are a mapping, whatever names there are."""
    if of["type"] == "array":
        return f"list[{python(of['items'])}]"
    inner = [*of.get("properties", {}).values()] or [of.get("additionalProperties", {})]
    return f"dict[str, {python(inner[0]) if inner[0] else 'Any'}]"
