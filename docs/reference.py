"""Write the reference pages that follow from registries: `make reference`. A test says when they are out of date."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from playpath.base import engine
from playpath.base.metrics import BULK_CRITERIA, VIDEO_CRITERIA, Metric, metric
from playpath.scenario import keys
from playpath.scenario.keys import default_text

FOLDER = Path(__file__).parent / "reference"
SCHEMAS = FOLDER.parents[1] / "scenarios" / "schemas"
"""Of documents: beside the shipped scenarios, which point to them and come with the package."""
TABLES = {
    "scenario": ("A scenario", ""),
    "run": ("[run]", "`[run]`"),
    "verdict": ("[verdict]", "`[verdict]`"),
    "choice": ("[[choice]]", "`[[choice]]`"),
    "video": ("[video]", "`[video]`"),
    "video.manifest": ("video.manifest", "`manifest = { … }`"),
    "player": ("[player]", "`[player]`"),
    "viewer": ("[viewer]", "`[viewer]`"),
    "origin": ("[origin]", "`[origin]`"),
    "path": ("[[path]]", "`[[path]]`"),
    "link": ("[[link]]", "`[[link]]`"),
    "direction": ("One direction", "`[[path]]`, `[[link]]` and their `up`"),
    "up": ("up", "`up = { … }`"),
    "path.outage": ("path.outage", "`outage = { … }`"),
    "path.rebinding": ("path.rebinding", "`rebinding = { … }`"),
    "loss": ("loss", "`loss = { … }`"),
    "queue": ("queue", "`queue = { … }`"),
    "wifi": ("wifi", "`wifi = { … }`"),
    "jitter": ("jitter", "`jitter = { … }`"),
    "reordering": ("reordering", "`reordering = { … }`"),
    "sender": ("[[sender]]", "`[[sender]]`"),
    "cc": ("cc", "`cc = { … }`"),
    "scheduler": ("scheduler", "`scheduler = { … }`"),
    "transport": ("transport", "`transport = { … }`"),
    "tcp": ("Keys of TCP", "`[[sender]]` and `[[traffic]]`, or their `transport = { … }`"),
    "pacing": ("pacing", "`pacing = { … }`"),
    "delayed_ack": ("delayed_ack", "`delayed_ack = { … }`"),
    "traffic": ("[[traffic]]", "`[[traffic]]`"),
    "traffic.rtt": ("traffic.rtt", "`rtt = { … }`"),
    "sweep": ("A sweep's design", ""),
    "axis": ("[[axis]]", "`[[axis]]`"),
    "sample": ("[sample]", "`[sample]`"),
    "population document": ("A population", ""),
    "population": ("[population]", "`[population]`"),
    "distribution": ("A distribution", ""),
    "distribution.lognormal": ("lognormal", "`lognormal = { … }`"),
    "distribution.normal": ("normal", "`normal = { … }`"),
}
"""Declared table → heading, where it stands."""
COMPONENTS = {
    "loss": "loss-models",
    "queue": "queues",
    "cc": "congestion-controls",
    "scheduler": "schedulers-over-several-paths",
}
"""Tables whose choice is described among the components."""
PROFILES = ("linux", "ns2", "rfc")
VERDICT = FOLDER.parent / "manual" / "verdict.md"
BEGIN, END = "<!-- ranking: from the registry of metrics, make reference -->", "<!-- end of ranking -->"
KINDS = {
    "cc": ("Congestion controls", 'cc = "cubic"', 'cc = {{ name = "{name}", {param} = {value} }}'),
    "scheduler": (
        "Schedulers over several paths",
        'scheduler = "dft"',
        'scheduler = {{ name = "{name}", {param} = {value} }}',
    ),
    "validation": ("Window validation", 'validation = "newcwv"', ""),
    "pacing": ("Pacing", "pacing = { gain = 1.0 }", ""),
    "profile": ("Profiles of a host", 'profile = "linux"', ""),
    "queue": ("Queues", 'queue = "codel"', 'queue = {{ kind = "{name}", {param} = {value} }}'),
    "loss": ("Loss models", 'loss = "0.5 %"', 'loss = {{ kind = "{name}", {param} = {value} }}'),
    "player": ("Players", '[player] kind = "dash"', "[player] {param} = {value}"),
    "abr": ("Adaptation rules", 'abr = "throughput"', 'abr = "{name} {param}={value}"'),
    "traffic": ("Cross traffic", '[[traffic]] kind = "web"', ""),
    "trace": ("Trace generators", "playpath convert --generate lte --to mahimahi", ""),
}
"""Kind → heading, how one is chosen, how a parameter is set."""


def pages() -> dict[Path, str]:
    """Every page, and what it has to say."""
    schema, _, metrics = engine.record_reference()
    return {
        FOLDER / "scenario.md": scenario_page(),
        **{SCHEMAS / f"{name}.schema.json": engine.schema(name) for name in engine.DOCUMENTS},
        FOLDER / "record.schema.json": schema,
        FOLDER / "metrics.md": metrics,
        FOLDER / "components.md": components(),
        VERDICT: verdict(),
    }


def verdict() -> str:
    """The page on how the winner is found, whose ranking follows from the registry of metrics."""
    before, rest = VERDICT.read_text().split(BEGIN)
    return f"{before}{BEGIN}\n\n{ranking()}\n{END}{rest.split(END)[1]}"


def ranking() -> str:
    """What decides, with and without a video."""
    lines = ["|  | with a video | alike when within |", "| -- | -- | -- |"]
    lines += [f"| {i} | {metric(n).label} | {margin(metric(n))} |" for i, n in enumerate(VIDEO_CRITERIA, 1)]
    bulk = ", ".join(f"{metric(name).label} ({margin(metric(name))})" for name in BULK_CRITERIA)
    # Wrapped as `make format` wraps Markdown.
    without = textwrap.fill(f"Without a `[video]` the criteria are {bulk}.", 120)
    return "\n".join(lines) + f"\n\n{without}\n"


def margin(entry: Metric) -> str:
    """What counts as alike."""
    is_word = len(entry.unit) > 2  # "frames", not "ms"
    unit = entry.unit.removesuffix("s") if entry.least == 1 and is_word else entry.unit
    parts = [f"{entry.least:g} {unit}".strip()] if entry.least else []
    return " or ".join([*parts, f"{100 * entry.least_share:g} %"])


def scenario_page() -> str:
    """Every key of a scenario, sweep and population."""
    if missing := keys.tables().keys() - TABLES.keys():
        raise KeyError(f"{missing}: give the table a heading in TABLES")
    parts = [
        "# Keys of scenarios, sweeps and populations\n",
        "Made from the engine's declarations by `make reference`; do not edit. `playpath help KEY` prints one of them "
        '(`playpath help path.queue`). Quantities are texts with a unit, `"50 ms"`; a bare `0` needs none. A key that is not '
        "here, a value of another type or outside its range is an error in one line with the nearest name. Unless a row says "
        "what the kernel world does, both worlds do the same.\n",
        "**In your editor.** `playpath schema > scenario.schema.json` writes the JSON Schema; with the first line "
        "`#:schema ./scenario.schema.json` taplo and VS Code (Even Better TOML) complete and check the file. Schemas: "
        + ", ".join(f"[{name}](../../scenarios/schemas/{name}.schema.json)" for name in engine.DOCUMENTS)
        + ". A schema knows keys, types and ranges; keys that exclude each other and names that must exist are checked when the "
        "file is read.\n",
    ]
    for name in TABLES:
        parts.append(table_section(name))
        if name == "sender":
            parts.append(profile_section())
    return "\n".join(parts)


def table_section(name: str) -> str:
    """One table with its keys."""
    table, (heading, place) = keys.tables()[name], TABLES[name]
    level = "##" if not place or place.startswith("`[") else "###"
    text = f"{level} {heading}\n\n{table['doc']}"
    if place and not place.startswith("`["):
        text += f" In {place}."
    text += "".join(f" It has the keys of [{TABLES[other][0]}](#{anchor(other)}), too." for other in table["with"])
    rows = list(table["keys"])
    choice = table["choice"]
    if choice:
        rows.insert(0, keys.tag_key(choice))
    parts = [f"{text}\n"]
    if rows:
        parts.append(key_table(rows))
    if name in COMPONENTS:
        parts.append(f"Its parameters: [{TABLES[name][0]}](components.md#{COMPONENTS[name]}).\n")
    elif name == "transport":
        parts.append(
            f'[{TABLES["tcp"][0]}](#{anchor("tcp")}), which may stand without the table, too; beside `"quic"` those that QUIC has as '
            "well.\n"
        )
        parts += [variant_section(choice, v) for v in choice["variants"] if v["name"] not in TABLES]
    elif choice:
        parts += [variant_section(choice, v) for v in choice["variants"] if v["keys"]]
    return "\n".join(parts)


def variant_section(choice: Mapping[str, Any], variant: Mapping[str, Any]) -> str:
    """The keys that a table has if it is this one."""
    return f'With `{choice["tag"]} = "{variant["name"]}"`, {cell(variant["summary"])}:\n\n' + key_table(variant["keys"])


def anchor(name: str) -> str:
    """Of a heading, as the site makes it."""
    return re.sub(r"[^a-z0-9]+", "-", TABLES[name][0].lower()).strip("-")


def key_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A row for each key."""
    lines = ["| key | type | default | allowed | since | what it does |", "|---|---|---|---|---|---|"]
    for key in rows:
        words = (
            "".join(f" `{word}`: {meaning.removesuffix('.')}." for word, meaning in key["words"])
            if len(key["words"]) < 7
            else ""
        )
        example = f" Example: `{key['name']} = {key['example']}`." if key["example"] else ""
        kernel = f" Kernel world: {key['kernel']}." if key["kernel"] else ""
        doc = key["doc"] if key["doc"].endswith(".") else f"{key['doc']}."
        cells = (
            f"`{key['name']}`",
            key["type"],
            default_text(key),
            key["allowed"],
            key["since"],
            doc + words + example + kernel,
        )
        lines.append("| " + " | ".join(cell(str(text)) for text in cells) + " |")
    return "\n".join(lines) + "\n"


def profile_section() -> str:
    """What a sender is where nothing is said, under each profile."""

    def resolved(**said: str) -> dict[str, Any]:
        document = {"path": [{"rate": "1 Mbit/s", "rtt": "1 ms"}], "traffic": [{"kind": "bulk", **said}]}
        return dict(engine.resolve(json.dumps(document), ".", {})["traffic"][0])

    of = {}
    for profile in PROFILES:
        # A resolved sender says these only where they are not the profile's.
        words = [
            w for w in ("off", "rfc5681", "linux") if "delayed_ack" not in resolved(profile=profile, delayed_ack=w)
        ]
        tunes = "window_tuning" not in resolved(profile=profile, window_tuning=True)
        of[profile] = resolved(profile=profile) | {"delayed_ack": words[0], "window_tuning": tunes}
    own = [key["name"] for key in keys.tables()["tcp"]["keys"] if key["otherwise"].endswith("the profile's")]
    lines = ["| key | " + " | ".join(f"`{p}`" for p in PROFILES) + " |", "|---" * (len(PROFILES) + 1) + "|"]
    lines += [f"| `{name}` | " + " | ".join(bare(of[p][name]) for p in PROFILES) + " |" for name in own]
    return "What the profiles set:\n\n" + "\n".join(lines) + "\n"


def components() -> str:
    """Everything that is chosen by name, with its parameters."""
    parts = [
        "# Components and their parameters\n",
        "Made from the registries by `make reference`; do not edit. `playpath list KIND` prints the same. A value outside its range is an "
        "error that says what is allowed. Defaults are the component's own; a sender's profile (`linux`, `ns2`, `rfc`) sets some of them "
        "otherwise, which `playpath show SCENARIO` tells.\n",
    ]
    for kind, (heading, chosen, set_as) in KINDS.items():
        parts.append(f"## {heading}\n\nChosen by name: `{chosen}`. `playpath list {kind}`.\n")
        parts += [component(entry, set_as) for entry in engine.registry(kind)]
    return "\n".join(parts)


def component(entry: Mapping[str, Any], set_as: str) -> str:
    """One entry of a registry."""
    reference = f" Reference: {entry['reference'].rstrip('.')}." if entry["reference"] else ""
    kernel = f" In the kernel world: `{entry['in_kernel']}`." if entry.get("in_kernel") else ""
    text = f"### {entry['name']}\n\n{cell(entry['summary'])}.{reference}{kernel}\n"
    if not entry["params"]:
        return text
    first = entry["params"][0]
    example = set_as.format(name=entry["name"], param=first["name"], value=toml_value(first["default"], set_as))
    rows = [
        f"| `{p['name']}` | {cell(default_text(p))} | {cell(p['allowed'])} | {cell(p['doc'])}{'.' * bool(outcome(p))}{outcome(p)} |"
        for p in entry["params"]
    ]
    how = f"\nSet like this: `{example}`.\n" if example else ""
    return "\n".join([text + how, "| parameter | default | allowed | what it does |", "|---|---|---|---|", *rows, ""])


def outcome(param: Mapping[str, Any]) -> str:
    """An example, and what is different in the kernel world."""
    example = f" Example: `{param['example']}`." if param["example"] else ""
    kernel = f" Kernel world: {param['kernel']}." if param["kernel"] else ""
    return cell(example + kernel)


def toml_value(value: Any, set_as: str) -> str:
    """A value as it is typed in TOML; bare inside a text."""
    return f'"{value}"' if isinstance(value, str) and set_as.count('"') <= 2 else bare(value)


def bare(value: Any) -> str:
    """A value as it is typed in TOML, a text without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def cell(text: str) -> str:
    """Text that ends no table cell."""
    return text.replace("|", "\\|")


def main() -> None:
    """Write them."""
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)


if __name__ == "__main__":
    main()
